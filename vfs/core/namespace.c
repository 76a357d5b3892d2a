#include "vfs/core/core.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "vfs/core/fork_fill.h"
#include "vfs/core/lower.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Namespaces: creating and deleting them, and their quota. */

int ns_add_root(struct vfs *v, struct err *e)
{
	int64_t now = clock_now_ns();
	struct node root = {
		.mode = S_IFDIR | 0755,
		.nlink = 2,
		.uid = getuid(),
		.gid = getgid(),
		.accessed = now,
		.modified = now,
		.changed = now,
		.created = now,
		.parent = VFS_ROOT,
		.blob = OPT_NONE,
		.lower_size = OPT_NONE,
	};
	int rc;

	v->filling = v->base != NULL;
	rc = node_add(v, &root, NULL, e);
	v->filling = false;
	if (rc)
		return -1;
	return v->base ? lower_root(v, &root, e) : 0;
}

int ns_check_free(struct sql *db, const char *name, struct err *e)
{
	struct vfs_key key = {.text = name};
	struct arena mem = {0};
	struct vfs_ns_row old;
	int found = sql_get(db, Q_VFS_NS_FIND, &key, &old, &mem, e);

	arena_fini(&mem);
	if (found > 0)
		return err_set(e, ERR_CONFLICT, "namespace '%s' already exists",
			       name);
	return found;
}

static int create_in(struct vfs *v, const char *name, struct err *e)
{
	struct vfs_ns_add_in row = {
		.name = name, .base = v->base, .made_at = clock_now_ns()};

	if (ns_check_free(v->db, name, e) ||
	    sql_exec(v->db, Q_VFS_NS_ADD, &row, e) < 0)
		return -1;
	v->ns = sql_last_rowid(v->db);
	return ns_add_root(v, e);
}

int vfs_create(struct sql *db, const char *name, const char *base,
	       struct err *e)
{
	struct vfs v = {.db = db, .base_fd = -1};
	int rc;

	if (text_check_name("the namespace", name, e))
		return -1;
	if (base && !(v.base = realpath(base, NULL)))
		return err_errno_set(e, "cannot use %s as a lower directory",
				     base);
	rc = sql_enter(db, e);
	if (rc == 0)
		rc = sql_leave(db, create_in(&v, name, e), e);
	if (v.base_fd >= 0)
		close(v.base_fd);
	free(v.base);
	return rc;
}

int vfs_set_run(struct sql *db, const char *name, const char *run,
		bool ephemeral, struct err *e)
{
	struct vfs_ns_set_run_in in = {name, run, ephemeral};

	return sql_exec(db, Q_VFS_NS_SET_RUN, &in, e) < 0 ? -1 : 0;
}

/* Everything that belongs to the namespace, its snapshots first. */
static int destroy_in(struct vfs *v, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct vfs_key key = {.id = v->ns};

	if (fork_forget_source(v, e))
		return -1;
	while (v->keep)
		if (snapshot_drop(v, v->keep, e))
			return -1;
	if (range_drop(v, &range, e) ||
	    sql_exec(v->db, Q_VFS_JOURNAL_DROP, &key, e) < 0)
		return -1;
	return sql_exec(v->db, Q_VFS_NS_DROP, &key, e) < 0 ? -1 : 0;
}

int ns_destroy(struct sql *db, const char *name, struct err *e)
{
	struct vfs *v;
	int rc;

	if (vfs_open(&v, db, name, "destroy", e))
		return -1;
	rc = tx_begin(v, e);
	if (rc == 0) {
		sql_bulk_begin(v->db);
		rc = destroy_in(v, e);
		v->usage_changed = false;
		rc = tx_end(v, rc, e);
		sql_bulk_end(v->db);
	}
	vfs_close(v);
	return rc;
}

int vfs_destroy(struct sql *db, const char *name, struct err *e)
{
	return text_check_name("the namespace", name, e)
		       ? -1
		       : ns_destroy(db, name, e);
}

static int untouched_in(struct vfs *v, struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct vfs_number snaps;
	struct node root;
	int any;

	if (tx_refresh(v, e) || node_get(v, VFS_ROOT, &root, e) ||
	    sql_get(v->db, Q_VFS_SNAP_COUNT, &key, &snaps, NULL, e) < 0)
		return -1;
	if (snaps.n || (v->base && !(root.flags & NODE_UNSEEN)))
		return 0;
	any = dentry_any(v, VFS_ROOT, e);
	return any < 0 ? -1 : !any;
}

int vfs_is_untouched(struct vfs *v, struct err *e)
{
	if (tx_read(v, e))
		return -1;
	return tx_read_end(v, untouched_in(v, e));
}

static int over(const char *what, int64_t max, struct err *e)
{
	return err_set(e, ERR_QUOTA,
		       "the quota of the namespace, %" PRId64
		       " %s, is exhausted",
		       max, what);
}

int quota_reserve(struct vfs *v, int64_t bytes, int64_t files, struct err *e)
{
	struct vfs_usage *u = &v->usage;

	if (!v->quota)
		return 0;
	if (bytes > 0 && u->max_bytes && u->bytes + bytes > u->max_bytes)
		return over("bytes", u->max_bytes, e);
	if (files > 0 && u->max_files && u->files + files > u->max_files)
		return over("files", u->max_files, e);
	u->bytes += bytes;
	u->files += files;
	v->usage_changed = true;
	return 0;
}

int quota_resize(struct vfs *v, struct node *n, int64_t size, struct err *e)
{
	bool hosts = n->flags & NODE_HOSTS;

	if (hosts && lower_keep_fingerprint(v, n, e))
		return -1;
	if (hosts ? quota_reserve(v, size, 1, e)
		  : size != n->size && quota_reserve(v, size - n->size, 0, e))
		return -1;
	n->flags &= ~NODE_HOSTS;
	return 0;
}

static int count_usage(struct vfs *v, struct vfs_usage *out, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct vfs_ns_usage_row row;

	if (sql_get(v->db, Q_VFS_NS_USAGE, &range, &row, NULL, e) < 0)
		return -1;
	out->bytes = row.bytes;
	out->files = row.files;
	return fork_add_usage(v, out, e);
}

static int usage_in(struct vfs *v, struct vfs_usage *out, struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct vfs_ns_now_row row = {0};

	if (v->batch && v->quota) {
		*out = v->usage;
		return 0;
	}
	if (sql_get(v->db, Q_VFS_NS_NOW, &key, &row, NULL, e) < 0)
		return -1;
	*out = (struct vfs_usage){row.used_bytes, row.used_files, row.max_bytes,
				  row.max_files};
	return row.max_bytes || row.max_files ? 0 : count_usage(v, out, e);
}

int vfs_usage(struct vfs *v, struct vfs_usage *out, struct err *e)
{
	if (tx_read(v, e))
		return -1;
	return tx_read_end(v, usage_in(v, out, e));
}

int quota_recount(struct vfs *v, struct err *e)
{
	if (!v->quota)
		return 0;
	v->usage_changed = true;
	return count_usage(v, &v->usage, e);
}

int quota_write(struct vfs *v, struct err *e)
{
	struct vfs_ns_use_in use = {v->ns, v->usage.bytes, v->usage.files};

	if (!v->usage_changed)
		return 0;
	v->usage_changed = false;
	return sql_exec(v->db, Q_VFS_NS_USE, &use, e) < 0 ? -1 : 0;
}

int quota_inherit(struct vfs *parent, int64_t snap, struct vfs *fork,
		  struct err *e)
{
	struct vfs_quota_of_in in = {parent->ns, snap};
	struct vfs_quota_of_row has;
	struct vfs_usage used;
	int found = quota_write(parent, e) ? -1
					   : sql_get(parent->db, Q_VFS_QUOTA_OF,
						     &in, &has, NULL, e);

	if (found <= 0)
		return found;
	used = (struct vfs_usage){.bytes = has.bytes, .files = has.files};
	/* the snapshot is older than the quota */
	if (has.bytes == OPT_NONE && count_usage(fork, &used, e))
		return -1;
	return sql_exec(fork->db, Q_VFS_NS_QUOTA,
			&(struct vfs_ns_quota_in){fork->ns, has.max_bytes,
						  has.max_files, used.bytes,
						  used.files},
			e) < 0
		       ? -1
		       : 0;
}

static int quota_in(struct vfs *v, int64_t max_bytes, int64_t max_files,
		    struct err *e)
{
	struct vfs_usage now;
	struct vfs_ns_quota_in row = {v->ns, max_bytes, max_files, 0, 0};

	if (fork_complete(v, e) || count_usage(v, &now, e))
		return -1;
	row.bytes = now.bytes;
	row.files = now.files;
	now.max_bytes = max_bytes;
	now.max_files = max_files;
	v->usage = now;
	v->quota = max_bytes || max_files;
	v->usage_changed = false;
	return sql_exec(v->db, Q_VFS_NS_QUOTA, &row, e) < 0 ? -1 : 0;
}

int vfs_set_quota(struct vfs *v, int64_t max_bytes, int64_t max_files,
		  struct err *e)
{
	if (max_bytes < 0 || max_files < 0)
		return err_set(e, ERR_USAGE, "a quota must not be negative");
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, quota_in(v, max_bytes, max_files, e), e);
}
