#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "vfs/core/core.h"
#include "vfs/fuse/internal.h"
#include "vfs/fuse/wait_timer.h"

#include <stdio.h>
#include <string.h>

/* The transactions of a mount: when they begin and end, and what other
 * processes have changed meanwhile. */

#define BATCH_MAX 256
#define BATCH_NS  5000000 /* 5 ms */
#define POLL_NS   (INT64_C(1000000) * MNT_POLL_MS)
#define LOG_IDLE  1000 /* frames of a log that is copied when there is time */

/* Invalidates everything that the kernel may have cached. */
static void forget_all(struct mnt *m)
{
	struct node_refs *held = &m->v->held;
	struct node n;
	struct err e;
	int64_t ino;

	notify_node(m->notify, VFS_ROOT);
	for (size_t i = 0; (ino = node_refs_next(held, &i));) {
		notify_node(m->notify, ino);
		if (node_find(m->v, ino, &n, &e) > 0)
			notify_entry(m->notify, n.parent, n.name);
	}
}

/* Every name of the node: the kernel drops the node, and the size that it has
 * for it, only when all are dropped. */
void mnt_forget_names(struct mnt *m, int64_t ino)
{
	struct vfs_range r = range_of(m->v->ns);
	struct vfs_dentry_of_in key = {r.lo, r.hi, ino};
	struct arena mem = {0};
	struct vfs_dentry_of_row *rows;
	struct err e;
	int n = sql_collect(m->v->db, Q_VFS_DENTRY_OF, &key, 1000, &rows, &mem,
			    &e);

	for (int i = 0; i < n; i++)
		notify_entry(m->notify, rows[i].dir & INO_MASK,
			     arena_textn(&mem, rows[i].name.p, rows[i].name.n));
	arena_fini(&mem);
}

/* Another process wrote to a file that the kernel knows. */
static void invalidate_content(struct mnt *m, int64_t ino)
{
	char tail[4096];
	struct node n;
	struct err e;
	int64_t off;
	ssize_t got;

	if (!node_refs_count(&m->v->held, ino) ||
	    node_find(m->v, ino, &n, &e) <= 0)
		return;
	if (n.nlink > 1)
		mnt_forget_names(m, ino);
	if (n.size == 0)
		return;
	off = (n.size - 1) / (int64_t)sizeof tail * (int64_t)sizeof tail;
	got = data_read(m->v, &n, tail, sizeof tail, off, &e);
	if (got > 0)
		notify_tail(m->notify, ino, off, tail, (size_t)got);
}

static void invalidate_change(struct mnt *m, const struct vfs_change *c)
{
	switch (c->op) {
	case VFS_OP_rollback:
	case VFS_OP_merge:
		forget_all(m);
		return;
	case VFS_OP_remove:
		/* the remover left the node to us: it is deleted when it is
		 * released */
		if (node_refs_count(&m->v->held, c->ino))
			node_refs_add(&m->v->orphans, c->ino,
				      node_refs_count(&m->v->orphans, c->ino)
					      ? 0
					      : 2);
		break;
	case VFS_OP_snapshot:
		return;
	case VFS_OP_create:
	case VFS_OP_write:
	case VFS_OP_attr:
	case VFS_OP_link:
	case VFS_OP_move_from:
	case VFS_OP_move_to:
	case VFS_OP_drift:
		break;
	}
	notify_entry(m->notify, c->dir, c->name);
	notify_node(m->notify, c->ino);
	if (c->op == VFS_OP_write)
		invalidate_content(m, c->ino);
}

/* What others did since the last check. Call it inside a transaction. */
static int poll_journal(struct mnt *m, struct err *e)
{
	struct arena mem = {0};
	struct vfs_change *c;
	int64_t last;
	int n = 1;

	m->polled = clock_mono_ns();
	if (vfs_last_change(m->v, &last, e))
		return -1;
	if (m->seen < last) /* before the kernel is notified */
		m->epoch++;
	while (n > 0 && m->seen < last) {
		arena_reset(&mem);
		n = vfs_changes(m->v, m->seen, 1000, &c, &mem, e);
		for (int i = 0; i < n; i++)
			if (strcmp(c[i].who, m->who) != 0)
				invalidate_change(m, &c[i]);
		m->seen = n > 0 ? c[n - 1].seq : last;
	}
	arena_fini(&mem);
	return n < 0 ? -1 : 0;
}

int mnt_read_raw(struct mnt *m, struct err *e)
{
	m->reads++;
	if (m->v->batch || m->v->reading)
		return 0;
	if (!vfs_begin_read(m->v, e) && !poll_journal(m, e))
		return 0;
	vfs_end_read(m->v);
	return -1;
}

int mnt_read(struct mnt *m, fuse_req_t req)
{
	struct err e;

	if (!mnt_read_raw(m, &e))
		return 0;
	mnt_fail(req, &e);
	return -1;
}

/* The batch has ended: other connections now see the same as this one. */
static void published(struct mnt *m)
{
	node_refs_fini(&m->v->changed);
	m->epoch++;
}

int mnt_begin(struct mnt *m, struct err *e)
{
	if (m->v->batch)
		return 0;
	if (vfs_begin(m->v, e))
		return -1;
	m->changes = 0;
	m->batch_since = clock_mono_ns();
	wait_timer_set(m->wait_timer, BATCH_NS);
	if (!poll_journal(m, e))
		return 0;
	wait_timer_set(m->wait_timer, 0);
	vfs_rollback(m->v);
	published(m);
	return -1;
}

int mnt_follow(struct mnt *m, fuse_req_t req)
{
	struct err e;

	if (!mnt_begin(m, &e))
		return 0;
	mnt_fail(req, &e);
	return -1;
}

int mnt_change(struct mnt *m, fuse_req_t req)
{
	if (mnt_follow(m, req))
		return -1;
	m->changes++;
	return 0;
}

void mnt_forget(struct mnt *m, int64_t ino, uint64_t times)
{
	struct err ignored;

	if (node_refs_count(&m->v->orphans, ino)) /* the end of its removal */
		(void)mnt_begin(m, &ignored);
	vfs_unref(m->v, ino, times);
}

int mnt_commit(struct mnt *m, struct err *e)
{
	int rc;

	if (!m->v->batch)
		return 0;
	wait_timer_set(m->wait_timer, 0);
	if (!m->v->lost)
		(void)mnt_access_write(m, e);
	rc = vfs_commit(m->v, e);
	published(m);
	m->batch_ended = clock_mono_ns();
	m->log_is_long = sql_log_frames(m->v->db) >= MNT_LOG_FRAMES * 3 / 4;
	if (rc)
		return -1;
	/* we checked when it began, and no one wrote since: all rows are
	 * ours */
	if (m->v->last_journal > m->seen)
		m->seen = m->v->last_journal;
	return 0;
}

int mnt_look(struct mnt *m, struct err *e)
{
	int rc;

	if (mnt_commit(m, e))
		return -1;
	vfs_end_read(m->v);
	m->reads = 0;
	if (vfs_begin_read(m->v, e))
		return -1;
	rc = poll_journal(m, e);
	vfs_end_read(m->v);
	return rc ? -1 : notify_idle(m->notify);
}

bool mnt_batch_is_due(const struct mnt *m)
{
	return m->v->batch && (m->changes >= BATCH_MAX || m->v->lost ||
			       clock_mono_ns() - m->batch_since >= BATCH_NS);
}

/* A checkpoint waits for the disk several times, and every client waits with
 * it. So it happens while there are no requests, if there is such a time before
 * the log is full. A few frames that are not copied are enough: because of them
 * readers use the whole log, which cannot be mapped. */
static void copy_log_when_idle(struct mnt *m)
{
	int frames = sql_log_frames(m->v->db);
	struct sql_checkpoint_result ignored;
	struct err e;

	if (m->v->batch || m->v->reading || frames < LOG_IDLE ||
	    frames == m->log_copied ||
	    clock_mono_ns() - m->batch_ended < POLL_NS)
		return;
	(void)sql_checkpoint(m->v->db, SQL_CHECKPOINT_FULL, 0, &ignored, &e);
	m->log_copied = sql_log_frames(m->v->db);
	m->log_is_long = false;
}

/* A failed commit loses what was acknowledged since the last one, like a disk
 * that fails under a page cache; only fsync promises durability, and it reports
 * the error. */
void mnt_commit_if_due(struct mnt *m, bool idle)
{
	struct err e;

	if (mnt_access_full(m))
		(void)mnt_begin(m, &e);

	if (mnt_batch_is_due(m) && mnt_commit(m, &e)) {
		fprintf(stderr, "skep: %s\n", e.text);
		forget_all(m);
	}
	if (m->v->reading && (idle || m->shared || m->reads >= BATCH_MAX)) {
		vfs_end_read(m->v);
		m->reads = 0;
	}
	/* also when no request uses this connection */
	if ((idle || clock_mono_ns() - m->polled >= POLL_NS) && !m->v->batch &&
	    !m->v->reading && !vfs_begin_read(m->v, &e)) {
		poll_journal(m, &e);
		vfs_end_read(m->v);
	}
	if (idle)
		copy_log_when_idle(m);
}
