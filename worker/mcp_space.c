/* The tools that need more than files: verbs of the namespace that the workspace
 * is, which its mount offers as attributes of the root (vfs/fuse_control.c). The
 * agent's file itself is not for the agent to open. */
#include "base/text.h"
#include "worker/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NO_SNAPSHOTS \
	"this workspace is a plain directory: there are no snapshots"

/* The root, with what was written before on the disk. */
static int open_root(struct mcp *m, struct err *e)
{
	int fd = below_open(&m->below, ".", O_RDONLY | O_DIRECTORY, 0, e);

	if (fd >= 0)
		(void)fsync(fd);
	return fd;
}

/* What a file system says that does not know the verb: an attribute like any
 * other would be set there, so a plain directory is told apart first. */
static int need_mount(int fd, struct err *e)
{
	char probe[1];

	if (fgetxattr(fd, "user.skep.diff. ", probe, 0) >= 0 ||
	    (errno != ENODATA && errno != ENOTSUP))
		return 0;
	return err_set(e, ERR_UNSUPPORTED, NO_SNAPSHOTS);
}

int mcp_snapshot(struct mcp *m, const cJSON *args, struct buf *out,
		 struct err *e)
{
	const char *name = json_text(args, "name", "");
	int fd = open_root(m, e), rc;

	if (fd < 0)
		return -1;
	rc = need_mount(fd, e);
	if (rc == 0 &&
	    fsetxattr(fd, "user.skep.snapshot", name, strlen(name), 0))
		rc = err_errno_set(e, "snapshot %s", quoted(name).text);
	close(fd);
	if (rc == 0)
		buf_addf(out, "Kept as %s", name);
	return rc;
}

static int read_diff(int fd, const char *name, struct buf *out, struct err *e)
{
	char *room = buf_room(out, XATTR_SIZE_MAX);
	ssize_t n = room ? fgetxattr(fd, name, room, XATTR_SIZE_MAX) : 0;

	if (n < 0 && errno == ENOENT)
		return err_set(e, ERR_NOTFOUND,
			       "there is no such snapshot; without from there "
			       "must be a directory below the workspace");
	if (n < 0)
		return err_errno_set(e, "diff");
	buf_grew(out, (size_t)n);
	return 0;
}

int mcp_diff(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *from = json_text(args, "from", "");
	struct buf name = BUF_MAX(XATTR_NAME_MAX);
	int fd = open_root(m, e), rc;

	if (fd < 0)
		return -1;
	buf_addf(&name, "user.skep.diff%s%s", from[0] ? "." : "", from);
	rc = need_mount(fd, e) || buf_ok(&name, "the name", e) ||
			     read_diff(fd, name.p, out, e)
		     ? -1
		     : 0;
	close(fd);
	buf_fini(&name);
	if (rc == 0 && out->n == 0)
		buf_adds(out, "Nothing has changed");
	return rc;
}
