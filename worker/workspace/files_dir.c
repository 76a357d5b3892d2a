/* Files in a directory. Operations of a namespace, which its mount offers as
 * attributes of the root (vfs/fuse/ops_control.c), work if the directory is
 * such a mount. */
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "worker/workspace/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PIECE (64u << 10)

/* --- one call ------------------------------------------------------------ */

static int open_root(struct files *s, struct err *e)
{
	return beneath_open(&s->beneath, ".", O_RDONLY | O_DIRECTORY, 0, e);
}

/* The error of a file system that does not support the operation: it would set
 * an ordinary attribute, so a plain directory is detected first. */
static bool is_mount(int root)
{
	char probe[1];

	return fgetxattr(root, "user.skep.diff. ", probe, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

static int dir_begin(struct files *s, bool changes, struct err *e)
{
	(void)s;
	(void)changes;
	(void)e;
	return 0;
}

/* A mount commits with a delay, unless requested: the result of a tool must not
 * be older than its effect. */
static int dir_end(struct files *s, bool changes, int rc, struct err *e)
{
	int root = rc == 0 && changes ? open_root(s, e) : -1;

	if (root < 0)
		return rc == 0 && changes ? -1 : rc;
	if (is_mount(root) && fsync(root))
		rc = err_errno_set(e, "the workspace");
	close(root);
	return rc;
}

/* --- files --------------------------------------------------------------- */

static int read_pieces(int fd, const char *path, files_sink *fn, void *arg,
		       struct err *e)
{
	char bytes[PIECE];
	ssize_t n;

	do {
		n = read(fd, bytes, sizeof bytes);
		if (n > 0 && fn(arg, bytes, (size_t)n, e))
			return -1;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? beneath_failed(path, e) : 0;
}

static int pieces(struct files *s, const char *path, files_sink *fn, void *arg,
		  struct err *e)
{
	int fd = beneath_open(&s->beneath, path, O_RDONLY, 0, e), rc;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		rc = beneath_failed(path, e);
	else if (!S_ISREG(st.st_mode))
		rc = beneath_not_plain(path, e);
	else
		rc = read_pieces(fd, path, fn, arg, e);
	close(fd);
	return rc;
}

static int dir_put(struct files *s, const char *path, struct blob what,
		   enum files_put how, struct err *e)
{
	static const int flags[] = {[FILES_REPLACE] = O_TRUNC,
				    [FILES_APPEND] = O_APPEND,
				    [FILES_NEW] = O_EXCL};
	int rc = beneath_put(&s->beneath, path, flags[how], &what, e);

	return rc && how == FILES_NEW && e->code == ERR_CONFLICT ? 0 : rc;
}

static int dir_mkdir(struct files *s, const char *path, struct err *e)
{
	return beneath_make_dir(&s->beneath, path, e);
}

static int cannot_move(const char *from, const char *to, struct err *e)
{
	return err_errno_set(e, "move %s to %s", quoted(from).text,
			     quoted(to).text);
}

/* Both directories are opened without leaving the workspace; names in them are
 * not resolved. No directories are created. */
static int dir_rename(struct files *s, const char *from, const char *to,
		      struct err *e)
{
	const char *name = NULL, *new = NULL;
	int a = beneath_parent(&s->beneath, from, false, &name, e), b = -1, rc;
	struct stat st;

	if (a < 0)
		return -1;
	rc = fstatat(a, name, &st, AT_SYMLINK_NOFOLLOW)
		     ? cannot_move(from, to, e)
		     : 0;
	if (rc == 0)
		b = beneath_parent(&s->beneath, to, true, &new, e);
	if (b < 0)
		rc = -1;
	else if (renameat2(a, name, b, new, RENAME_NOREPLACE))
		rc = cannot_move(from, to, e);
	close(a);
	if (b >= 0)
		close(b);
	return rc;
}

static int dir_remove(struct files *s, const char *path, struct err *e)
{
	const char *name;
	int dir = beneath_parent(&s->beneath, path, false, &name, e), rc;

	if (dir < 0)
		return -1;
	rc = unlinkat(dir, name, 0);
	if (rc && (errno == EISDIR || errno == EPERM))
		rc = unlinkat(dir, name, AT_REMOVEDIR);
	if (rc)
		err_errno_set(e, "delete %s", quoted(path).text);
	close(dir);
	return rc;
}

static int info(struct files *s, const char *path, struct files_info *out,
		struct err *e)
{
	struct stat st;
	int fd = beneath_open(&s->beneath, path, O_PATH, 0, e), rc;

	if (fd < 0)
		return -1;
	rc = fstat(fd, &st);
	close(fd);
	if (rc)
		return beneath_failed(path, e);
	*out = (struct files_info){.mode = st.st_mode,
				   .size = st.st_size,
				   .modified = st.st_mtim,
				   .accessed = st.st_atim,
				   .changed = st.st_ctim};
	return 0;
}

static int dir_walk(struct files *s, const char *start, beneath_fn *fn,
		    void *arg, struct err *e)
{
	return beneath_walk(&s->beneath, start, fn, arg, e);
}

/* --- snapshots ----------------------------------------------------------- */

/* The root of a mount, after its writes were committed. */
static int open_mount(struct files *s, struct err *e)
{
	int root = open_root(s, e);

	if (root < 0)
		return -1;
	if (is_mount(root)) {
		(void)fsync(root);
		return root;
	}
	close(root);
	return err_set(e, ERR_UNSUPPORTED,
		       "this workspace is a plain directory, which "
		       "has no snapshots");
}

static int snapshot(struct files *s, const char *name, struct err *e)
{
	int root = open_mount(s, e), rc;

	if (root < 0)
		return -1;
	rc = fsetxattr(root, "user.skep.snapshot", name, strlen(name), 0);
	if (rc)
		err_errno_set(e, "snapshot %s", quoted(name).text);
	close(root);
	return rc;
}

static int read_diff(int root, const char *name, struct buf *out, struct err *e)
{
	char *room = buf_room(out, XATTR_SIZE_MAX);
	ssize_t n = room ? fgetxattr(root, name, room, XATTR_SIZE_MAX) : 0;

	if (n < 0 && errno == ENOENT)
		return err_set(e, ERR_NOTFOUND, FILES_NO_SNAPSHOT);
	if (n < 0)
		return err_errno_set(e, "diff");
	buf_grew(out, (size_t)n);
	return 0;
}

static int diff(struct files *s, const char *from, struct buf *out,
		struct err *e)
{
	struct buf name = BUF_MAX(XATTR_NAME_MAX);
	int root = open_mount(s, e), rc;

	if (root < 0)
		return -1;
	buf_addf(&name, "user.skep.diff%s%s", from[0] ? "." : "", from);
	rc = buf_ok(&name, "the name", e) || read_diff(root, name.p, out, e)
		     ? -1
		     : 0;
	close(root);
	buf_fini(&name);
	return rc;
}

static void close_dir(struct files *s)
{
	beneath_close(&s->beneath);
}

static const struct files_kind kind = {
	.begin = dir_begin,
	.end = dir_end,
	.pieces = pieces,
	.put = dir_put,
	.make_dir = dir_mkdir,
	.move = dir_rename,
	.drop = dir_remove,
	.info = info,
	.walk = dir_walk,
	.snapshot = snapshot,
	.diff = diff,
	.close = close_dir,
};

void files_dir(struct files *s, const char *dir, int fd)
{
	*s = (struct files){.kind = &kind, .beneath = {.fd = fd, .dir = dir}};
}

/* --- of any kind --------------------------------------------------------- */

void files_close(struct files *s)
{
	if (s->kind)
		s->kind->close(s);
	s->kind = NULL;
}

static int add_piece(void *arg, const void *p, size_t n, struct err *e)
{
	struct buf *out = arg;

	buf_add(out, p, n);
	return buf_ok(out, "the file", e);
}

int files_read(struct files *s, const char *path, struct buf *out,
	       struct err *e)
{
	return s->kind->pieces(s, path, add_piece, out, e);
}
