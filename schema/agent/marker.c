#include "schema/agent/marker.h"

#include "lib/base/clock.h"
#include "schema/agent/vfs_id.h"

#include <inttypes.h>
#include <stdio.h>

/* Numbers of nodes from this one on are newer than the snapshot. */
static int next_ino(struct agent_file *f, const struct vfs_ns_row *ns,
		    int64_t *out, struct err *e)
{
	struct vfs_range r = {.lo = ns->id << NS_SHIFT,
			      .hi = (ns->id + 1) << NS_SHIFT};
	struct vfs_number max;

	if (ns->base)
		r.lo += INO_OWN;
	if (sql_get(f->db, Q_VFS_INODE_MAX, &r, &max, NULL, e) < 0)
		return -1;
	*out = (max.n & INO_MASK) + 1;
	if (*out < ns->next_ino)
		*out = ns->next_ino;
	return 0;
}

static int add_snapshot(struct agent_file *f, const struct marker_new *m,
			const struct vfs_ns_row *ns, int64_t *snap,
			struct err *e)
{
	char name[64];
	struct vfs_snap_row row = {.ns = ns->id,
				   .name = name,
				   .hidden = true,
				   .made_at = clock_now_ns()};
	struct vfs_key key = {.id = ns->id};

	snprintf(name, sizeof name, MARKER_PREFIX "%" PRId64 "-%" PRId64,
		 m->run, m->turn);
	if (next_ino(f, ns, &row.next_ino, e) ||
	    sql_exec(f->db, Q_VFS_SNAP_ADD, &row, e) < 0)
		return -1;
	*snap = key.snap = sql_last_rowid(f->db);
	key.ino = row.next_ino;
	return sql_exec(f->db, Q_VFS_NS_SNAP, &key, e) < 0 ? -1 : 0;
}

static int add_marker(struct agent_file *f, const struct marker_new *m,
		      const struct vfs_ns_row *ns, int64_t seq, struct err *e)
{
	struct marker_add_in row = {.run = m->run,
				    .turn = m->turn,
				    .session = m->session,
				    .seq = seq,
				    .ns = ns->id,
				    .at = clock_now()};
	struct marker_same_in key = {ns->id, ns->snap};
	struct marker_same_row same;
	struct vfs_number last;
	int found = sql_get(f->db, Q_MARKER_SAME, &key, &same, NULL, e);

	row.snap = ns->snap;
	if (found < 0 || (found == 0 && add_snapshot(f, m, ns, &row.snap, e)) ||
	    sql_get(f->db, Q_VFS_JOURNAL_LAST, NULL, &last, NULL, e) < 0)
		return -1;
	row.journal = last.n;
	return sql_exec(f->db, Q_MARKER_ADD, &row, e) < 0 ? -1 : 0;
}

static int put_in(struct agent_file *f, const struct marker_new *m,
		  struct arena *a, struct err *e)
{
	struct vfs_key key = {.text = m->workspace};
	struct marker_last_row last;
	struct vfs_ns_row ns;
	int64_t seq = m->seq;
	int found = sql_get(f->db, Q_VFS_NS_FIND, &key, &ns, a, e);

	if (found <= 0)
		return found;
	found = sql_get(f->db, Q_MARKER_LAST, &(struct marker_last_in){m->run},
			&last, NULL, e);
	if (found < 0 || (found && m->turn == 0))
		return found < 0 ? -1 : 0;
	/* a turn without an event ends with the next one */
	if (found && seq <= last.seq)
		seq = last.seq + 1;
	return add_marker(f, m, &ns, seq, e);
}

int marker_put(struct agent_file *f, const struct marker_new *m, struct err *e)
{
	struct arena a = {0};
	int rc = sql_enter_relaxed(f->db, e);

	if (rc == 0)
		rc = sql_leave(f->db, put_in(f, m, &a, e), e);
	arena_fini(&a);
	return rc;
}

int marker_end_run(struct agent_file *f, int64_t run, int64_t seq,
		   struct err *e)
{
	struct marker_open_row row;
	struct arena a = {0};
	int found = sql_get(f->db, Q_MARKER_OPEN, &(struct marker_open_in){run},
			    &row, &a, e);
	int rc = found < 0 ? -1 : 0;

	if (found > 0)
		rc = marker_put(f,
				&(struct marker_new){run, row.session, row.turn,
						     seq, row.workspace},
				e);
	arena_fini(&a);
	return rc;
}
