/* The tools that need more than files: the workspace as a namespace of the
 * agent's file. */
#include "schema/agent_file.h"
#include "vfs/diff.h"
#include "vfs/snap.h"
#include "vfs/vfs.h"
#include "worker/mcp.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct space {
	struct agent_file file;
	struct vfs *v;
};

/* What was written through the mount is committed by its fsync: else a snapshot
 * might not have it. */
static int open_space(struct mcp *m, struct space *s, struct err *e)
{
	int fd;

	if (!m->agent_db)
		return err_set(e, ERR_UNSUPPORTED,
			       "this workspace is a plain directory: there are "
			       "no snapshots");
	fd = below_open(&m->below, ".", O_RDONLY | O_DIRECTORY, 0, e);
	if (fd < 0)
		return -1;
	(void)fsync(fd);
	close(fd);
	if (agent_file_open(&s->file, m->agent_db, m->agent, 0, e))
		return -1;
	if (vfs_open(&s->v, s->file.db, "main", "agent", e)) {
		agent_file_close(&s->file);
		return -1;
	}
	return 0;
}

static void close_space(struct space *s)
{
	vfs_close(s->v);
	agent_file_close(&s->file);
}

int mcp_snapshot(struct mcp *m, const cJSON *args, struct buf *out,
		 struct err *e)
{
	const char *name = json_text(args, "name", "");
	struct space s;
	int rc;

	if (open_space(m, &s, e))
		return -1;
	rc = vfs_snapshot(s.v, name, e);
	close_space(&s);
	if (rc == 0)
		buf_addf(out, "Kept as %s", name);
	return rc;
}

struct differ {
	struct side a, b;
	struct buf *out;
};

static int add_delta(void *arg, const struct vfs_delta *d, struct err *e)
{
	struct differ *x = arg;

	return vfs_diff_text(&x->a, &x->b, d, x->out, e);
}

/* Since a snapshot, or since the directory below. */
static int diff_from(struct space *s, const char *from, struct buf *out,
		     struct err *e)
{
	struct differ x = {.b = {.v = s->v}, .out = out};
	struct buf name = BUF_MAX(1024);
	int rc = 0;

	if (from) {
		buf_addf(&name, "main@%s", from);
		rc = vfs_open(&x.a.v, s->file.db, name.p, "agent", e);
	} else {
		x.a.dir = vfs_base(s->v);
		if (!x.a.dir)
			rc = err_set(e, ERR_INVALID,
				     "there is nothing below this workspace: "
				     "give from, the name of a snapshot");
	}
	if (rc == 0)
		rc = vfs_diff(&x.a, &x.b, add_delta, &x, e);
	vfs_close(x.a.v);
	buf_fini(&name);
	return rc;
}

int mcp_diff(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	struct space s;
	int rc;

	if (open_space(m, &s, e))
		return -1;
	rc = diff_from(&s, json_text(args, "from", NULL), out, e);
	close_space(&s);
	if (rc == 0 && out->n == 0)
		buf_adds(out, "Nothing has changed");
	return rc;
}
