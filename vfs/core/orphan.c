#include "lib/os/process.h"
#include "vfs/core/core.h"

#include <unistd.h>

/*
 * A node that is open outlives its last name. A row in vfs_orphan names the
 * process that holds it, so that the next opener of the namespace can release
 * it after a crash. Long-lived processes (mounts) are in vfs_open_process, so that
 * other processes leave the nodes that they unlink to them.
 */

/* Start time of a process in clock ticks since boot; 0 if there is none. */
static int64_t start_of(int64_t pid)
{
	struct process_identity m;

	return process_identity(pid, &m) ? m.start_ticks : 0;
}

/* A killed process that its parent has not reaped holds nothing. */
static bool is_alive(const struct vfs_owner *o)
{
	struct process_identity m;

	return process_identity(o->pid, &m) && m.start_ticks == o->start &&
	       process_is_alive(&m);
}

/* Of this process: a handle is not used after a fork. A mount needs it with
 * every commit that has removed files. */
static int64_t own_start(struct vfs *v)
{
	if (!v->own_start)
		v->own_start = start_of(getpid());
	return v->own_start;
}

static int log_orphan(struct vfs *v, int64_t ino, struct vfs_owner holder,
		      struct err *e)
{
	holder.id = id_of(v, ino);
	return sql_exec(v->db, Q_VFS_ORPHAN_ADD, &holder, e) < 0 ? -1 : 0;
}

/* Whether another process may have the node open: 1, 0, -1. With `shared`, those
 * that share the namespace do not count. */
static int other_holder(struct vfs *v, bool shared, struct vfs_owner *out,
			struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct sql_rows it = sql_rows(v->db, Q_VFS_OPEN_PROCESS_LIST, &key);
	bool found = false;

	while (!found && sql_next(&it, out))
		found = out->pid != getpid() && !(shared && out->is_shared) &&
			is_alive(out);
	return sql_end(&it, e) ? -1 : found;
}

int orphan_is_open(struct vfs *v, int64_t ino, struct err *e)
{
	struct vfs_owner other;
	int found;

	if (node_refs_count(&v->held, ino)) {
		if (!node_refs_count(&v->orphans, ino))
			node_refs_add(&v->orphans, ino, 1);
		return 1;
	}
	found = other_holder(v, false, &other, e);
	if (found > 0 && log_orphan(v, ino, other, e))
		return -1;
	return found;
}

int orphans_write(struct vfs *v, struct err *e)
{
	struct vfs_owner me = {.pid = getpid()};
	int64_t ino;

	if (v->orphans.n == 0)
		return 0;
	me.start = own_start(v);
	for (size_t i = 0; (ino = node_refs_next(&v->orphans, &i));) {
		if (node_refs_count(&v->orphans, ino) > 1)
			continue;
		if (log_orphan(v, ino, me, e))
			return -1;
		node_refs_add(&v->orphans, ino, 1);
	}
	return 0;
}

static int drop_in(struct vfs *v, int64_t ino, bool has_row, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, ino)};
	struct node n;
	int found = node_find(v, ino, &n, e);

	if (found < 0)
		return -1;
	/* after a rollback the node may have its name again */
	if (found && n.nlink == 0 && node_drop(v, &n, e))
		return -1;
	if (!has_row)
		return 0;
	return sql_exec(v->db, Q_VFS_ORPHAN_DROP, &key, e) < 0 ? -1 : 0;
}

static int orphan_drop(struct vfs *v, int64_t ino, bool has_row, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, drop_in(v, ino, has_row, e), e);
}

void vfs_ref(struct vfs *v, int64_t ino)
{
	node_refs_add(&v->held, ino, 1);
}

void vfs_unref(struct vfs *v, int64_t ino, uint64_t times)
{
	struct err ignored;
	uint64_t known;

	if (node_refs_sub(&v->held, ino, times))
		return;
	known = node_refs_count(&v->orphans, ino);
	if (!known)
		return;
	node_refs_sub(&v->orphans, ino, 2);
	/* after a failure here it stays an orphan and is found later */
	orphan_drop(v, ino, known > 1, &ignored);
}

void orphans_release(struct vfs *v)
{
	struct err ignored;
	int64_t ino;

	for (size_t i = 0; (ino = node_refs_next(&v->orphans, &i));)
		orphan_drop(v, ino, true, &ignored);
}

int orphans_reap(struct vfs *v, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct arena mem = {0};
	struct vfs_owner *rows;
	int n, rc = 0;

	if (v->snap)
		return 0;
	n = sql_collect(v->db, Q_VFS_ORPHAN_LIST, &range, 10000, &rows, &mem,
			e);
	for (int i = 0; rc == 0 && i < n; i++)
		if (!is_alive(&rows[i]))
			rc = orphan_drop(v, rows[i].id & INO_MASK, true, e);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

static int claim_namespace(struct vfs *v, bool shared, int64_t *other,
			   struct err *e)
{
	struct vfs_owner me = {.id = v->ns,
			       .pid = getpid(),
			       .is_shared = shared},
			 holder;
	int taken = other_holder(v, shared, &holder, e);

	if (taken) {
		*other = taken < 0 ? 0 : holder.pid;
		return taken;
	}
	me.start = start_of(me.pid);
	return sql_exec(v->db, Q_VFS_OPEN_PROCESS_ADD, &me, e) < 0 ? -1 : 0;
}

int vfs_open_process_begin(struct vfs *v, bool shared, int64_t *other,
			   struct err *e)
{
	int taken;

	if (sql_enter(v->db, e))
		return -1;
	taken = claim_namespace(v, shared, other, e);
	return sql_leave(v->db, taken < 0 ? -1 : 0, e) ? -1 : taken;
}

void vfs_open_process_end(struct vfs *v)
{
	struct vfs_owner me = {.id = v->ns, .pid = getpid()};
	struct err ignored;

	sql_exec(v->db, Q_VFS_OPEN_PROCESS_DROP, &me, &ignored);
}
