/* Growth of imports, exports and namespaces over a host directory. */
#include "bench/suites/growth.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/merge.h"
#include "vfs/snapshot/snapshot.h"
#include "vfs/transfer/transfer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

struct place {
	char text[PATH_MAX];
};

static struct place place(const struct growth_world *w, const char *name)
{
	struct place p;

	snprintf(p.text, sizeof p.text, "%s/%s", w->dir, name);
	return p;
}

int growth_other_destroy(struct growth_world *w, struct err *e)
{
	vfs_close(w->other);
	w->other = NULL;
	return vfs_destroy(w->file.db, "other", e);
}

/* An empty namespace instead of the previous one. */
int growth_other_new(struct growth_world *w, struct err *e)
{
	if (w->other && growth_other_destroy(w, e))
		return -1;
	return vfs_create(w->file.db, "other", NULL, e)
		       ? -1
		       : growth_open_other(w, "other", e);
}

int growth_export_dir(struct growth_world *w, struct err *e)
{
	struct vfs_transfer p = {.path = ""};

	return vfs_export_dir(w->v, place(w, "tree").text, &p, e);
}

int growth_import_dir(struct growth_world *w, struct err *e)
{
	struct vfs_transfer p = {.path = ""};

	return vfs_import_dir(w->other, place(w, "tree").text, &p, e);
}

static int with_tar(struct growth_world *w, int flags, struct vfs *v,
		    int (*call)(struct vfs *v, int fd, struct vfs_transfer *p,
				struct err *e),
		    struct err *e)
{
	struct vfs_transfer p = {.path = ""};
	int fd = open(place(w, "tree.tar").text, flags | O_CLOEXEC, 0600);
	int rc = fd < 0 ? err_errno_set(e, "tree.tar") : call(v, fd, &p, e);

	if (fd >= 0)
		close(fd);
	return rc;
}

int growth_export_tar(struct growth_world *w, struct err *e)
{
	return with_tar(w, O_WRONLY | O_CREAT, w->v, vfs_export_tar, e);
}

int growth_import_tar(struct growth_world *w, struct err *e)
{
	return with_tar(w, O_RDONLY, w->other, vfs_import_tar, e);
}

int growth_export_sqlar(struct growth_world *w, struct err *e)
{
	struct vfs_transfer p = {.path = ""};

	return vfs_export_sqlar(w->v, place(w, "tree.sqlar").text, &p, e);
}

int growth_import_sqlar(struct growth_world *w, struct err *e)
{
	struct vfs_transfer p = {.path = ""};

	return vfs_import_sqlar(w->other, place(w, "tree.sqlar").text, &p, e);
}

int growth_export_agentfs(struct growth_world *w, struct err *e)
{
	struct vfs_transfer p = {.path = ""};

	return vfs_export_agentfs(w->v, place(w, "tree.agentfs").text, &p, e);
}

int growth_import_agentfs(struct growth_world *w, struct err *e)
{
	struct vfs_transfer p = {.path = ""};

	return vfs_import_agentfs(w->other, place(w, "tree.agentfs").text, &p,
				  e);
}

/* --- over the exported directory ------------------------------------------ */

int growth_scratch_new(struct growth_world *w, struct err *e)
{
	if (growth_other_destroy(w, e) ||
	    vfs_create(w->file.db, "other", place(w, "tree").text, e))
		return -1;
	return growth_open_other(w, "other", e);
}

int growth_scratch_snapshot(struct growth_world *w, struct err *e)
{
	return vfs_snapshot(w->other, "s", e);
}

int growth_scratch_list(struct growth_world *w, struct err *e)
{
	return growth_visit(w->other, e);
}

int growth_scratch_change(struct growth_world *w, struct err *e)
{
	return growth_change_some(w, w->other, e);
}

static int ignore_delta(void *arg, const struct vfs_difference *d,
			struct err *e)
{
	(void)arg, (void)d, (void)e;
	return 0;
}

int growth_scratch_diff(struct growth_world *w, struct err *e)
{
	struct diff_source host = {.dir = vfs_base(w->other)},
			   ours = {.v = w->other};

	return vfs_diff(&host, &ours, ignore_delta, NULL, e);
}

int growth_scratch_apply(struct growth_world *w, struct err *e)
{
	struct vfs_merge m = {0};

	return vfs_apply(w->other, &m, e);
}

int growth_scratch_discard(struct growth_world *w, struct err *e)
{
	return vfs_discard(w->other, e);
}
