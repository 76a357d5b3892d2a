/*
 * What a namespace can do beyond files, for programs on its mount that have no
 * other way to it: attributes of the root directory that are verbs.
 *
 *   setfattr -n user.skep.snapshot -v NAME DIR   keeps the tree under a name
 *   getfattr -n user.skep.diff.NAME DIR          what has changed since then
 *   getfattr -n user.skep.diff DIR               … since the directory below
 *
 * A difference is cut where it would be longer than an attribute can be.
 */
#include "vfs/core.h"
#include "vfs/diff.h"
#include "vfs/fuse_core.h"
#include "vfs/snap.h"

#include <limits.h>
#include <string.h>

#define SNAPSHOT "user.skep.snapshot"
#define DIFF     "user.skep.diff"
#define CUT      "\n(the rest is left out)\n"

struct differ {
	struct side a, b;
	struct buf *out;
};

static int add_delta(void *arg, const struct vfs_delta *d, struct err *e)
{
	struct differ *x = arg;

	if (vfs_diff_text(&x->a, &x->b, d, x->out, e))
		return -1;
	return x->out->over; /* that is enough */
}

static int diff_from(struct mnt *m, const char *name, struct buf *out,
		     struct err *e)
{
	struct differ x = {.b = {.v = m->v}, .out = out};
	struct buf from = BUF_MAX(1024);
	int rc = 0;

	if (name[0] == '.') {
		buf_addf(&from, "%s@%s", vfs_name(m->v), name + 1);
		rc = vfs_open(&x.a.v, m->v->db, from.p, "mount", e);
	} else {
		x.a.dir = vfs_base(m->v);
		if (!x.a.dir)
			rc = err_set(e, ERR_NOTFOUND, "nothing is below");
	}
	if (rc == 0 && vfs_diff(&x.a, &x.b, add_delta, &x, e) < 0)
		rc = -1;
	vfs_close(x.a.v);
	buf_fini(&from);
	return rc;
}

static bool is_diff(const char *name)
{
	size_t n = strlen(DIFF);

	return strncmp(name, DIFF, n) == 0 &&
	       (name[n] == '\0' || (name[n] == '.' && name[n + 1]));
}

int mnt_control_get(struct mnt *m, int64_t ino, const char *name,
		    struct buf *out, struct err *e)
{
	if (ino != VFS_ROOT || !is_diff(name))
		return 0;
	out->max = XATTR_SIZE_MAX - sizeof CUT;
	if (mnt_commit(m, e) || diff_from(m, name + strlen(DIFF), out, e))
		return -1;
	if (out->over) {
		out->over = false;
		out->max = XATTR_SIZE_MAX;
		buf_adds(out, CUT);
	}
	return 1;
}

int mnt_control_set(struct mnt *m, int64_t ino, const char *name,
		    struct blob value, struct err *e)
{
	char text[NAME_MAX + 1];

	if (ino != VFS_ROOT || strcmp(name, SNAPSHOT) != 0)
		return 0;
	if (value.n == 0 || value.n > NAME_MAX)
		return err_set(e, ERR_INVALID, "a snapshot needs a name");
	memcpy(text, value.p, value.n);
	text[value.n] = '\0';
	return mnt_commit(m, e) || vfs_snapshot(m->v, text, e) ? -1 : 1;
}
