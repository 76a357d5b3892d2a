#include "vfs/core/core.h"
#include "vfs/snapshot/diff.h"

#include <string.h>

#define CUT "\n(the rest is left out)\n"

struct differ {
	struct diff_source a, b;
	struct buf text;
};

static int add_delta(void *arg, const struct vfs_difference *d, struct err *e)
{
	struct differ *x = arg;

	if (d->is_unseen)
		return 0;
	if (vfs_diff_text(&x->a, &x->b, d, &x->text, e))
		return -1;
	return x->text.over; /* that is enough */
}

static int open_before(struct differ *x, struct vfs *v, const char *snapshot,
		       struct err *e)
{
	struct buf name = BUF_MAX(1024);
	int rc;

	x->a.dir = vfs_base(v);
	if (!snapshot[0])
		return x->a.dir ? 0
				: err_set(e, ERR_NOTFOUND,
					  "the namespace has no lower "
					  "directory");
	buf_addf(&name, "%s@%s", vfs_name(v), snapshot);
	rc = buf_ok(&name, "the name", e)
		     ? -1
		     : vfs_open(&x->a.v, v->db, name.p, v->who, e);
	buf_fini(&name);
	return rc;
}

int vfs_diff_since(struct vfs *v, const char *snapshot, size_t max,
		   struct buf *out, struct err *e)
{
	struct differ x = {.b = {.v = v}};
	int rc;

	buf_init(&x.text, max - strlen(CUT));
	rc = open_before(&x, v, snapshot, e);
	if (rc == 0 && vfs_diff(&x.a, &x.b, add_delta, &x, e) < 0)
		rc = -1;
	if (rc == 0)
		buf_add(out, x.text.p, x.text.n);
	if (rc == 0 && x.text.over)
		buf_adds(out, CUT);
	vfs_close(x.a.v);
	buf_fini(&x.text);
	return rc;
}
