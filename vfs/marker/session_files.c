#include "vfs/marker/session_files.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "schema/agent/marker.h"
#include "schema/agent/transcript/session.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/restore.h"
#include "vfs/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHO "rewind"

struct move {
	struct agent_file *f;
	const char *key;
	int64_t seq;
	bool force;
	struct session_row s;
	struct arena mem;
};

/* --- the reasons why it cannot be done ----------------------------------- */

static int no_marker(struct move *m, struct err *e)
{
	struct run_on_host_row row;
	int found = sql_get(m->f->db, Q_RUN_ON_HOST,
			    &(struct run_on_host_in){m->s.id}, &row, &m->mem,
			    e);

	if (found < 0)
		return -1;
	if (found)
		return err_set(e, ERR_UNSUPPORTED,
			       "session '%s': run %s worked in a host "
			       "directory, of which there are no snapshots; "
			       "'skep run --over DIR', or an agent with the "
			       "workspace vfs-scratch, keeps them",
			       quoted(m->key).text, row.run);
	return err_set(e, ERR_NOTFOUND,
		       "session '%s' has no marker of a workspace at event "
		       "%" PRId64 ": no run has changed files, 'skep vfs "
		       "apply', discard or rollback has dropped the earlier "
		       "states, or the markers were pruned (agent.markers)",
		       quoted(m->key).text, m->seq);
}

/* No run may work there meanwhile. */
static int check_idle(struct move *m, const char *name, struct err *e)
{
	struct run_working_in_row row;
	int found = sql_get(m->f->db, Q_RUN_WORKING_IN,
			    &(struct run_working_in_in){name}, &row, &m->mem,
			    e);

	if (found <= 0)
		return found;
	return err_set(e, ERR_BUSY, "run %s works in the namespace '%s'",
		       row.run, name);
}

static int check_others(struct move *m, int64_t ns, const char *name,
			int64_t snap, struct err *e)
{
	struct marker_other_in key = {ns, snap, m->s.id};
	struct marker_other_row row;
	int found = m->force ? 0
			     : sql_get(m->f->db, Q_MARKER_OTHER, &key, &row,
				       &m->mem, e);

	if (found <= 0)
		return found;
	return err_set(e, ERR_CONFLICT,
		       "run %s of another session has worked in the namespace "
		       "'%s' since; --force undoes its changes too",
		       row.run, name);
}

/* Changes that no run has made would be lost without a word. */
static int check_edits(struct move *m, int64_t ns, const char *name,
		       int64_t snap, struct err *e)
{
	struct marker_edits_in key = {ns, snap};
	struct marker_edits_row row;

	if (m->force)
		return 0;
	if (sql_get(m->f->db, Q_MARKER_EDITS, &key, &row, &m->mem, e) < 0)
		return -1;
	if (row.n == 0)
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "%" PRId64 " %s in the namespace '%s' changed since, "
		       "but not by a run (%s%s; 'skep vfs log' lists all); "
		       "--force undoes that too, and 'skep session restore' "
		       "brings it back",
		       row.n, text_plural(row.n, "file", "files"), name,
		       quoted(row.name).text, row.n > 1 ? ", …" : "");
}

/* --- rewind -------------------------------------------------------------- */

static int restore_to(struct vfs *v, const char *to, struct err *e)
{
	struct vfs_restore r = {.to = to};

	return vfs_restore(v, &r, e);
}

static int rewind_space(struct move *m, int64_t rewind, int64_t ns,
			const char *name, struct err *e)
{
	struct marker_at_in key = {m->s.id, ns, m->seq};
	struct rewind_workspace_add_in row = {.rewind = rewind, .ns = ns};
	struct marker_row to;
	char before[64];
	struct vfs *v;
	int rc = sql_get(m->f->db, Q_MARKER_AT, &key, &to, &m->mem, e);

	if (rc <= 0)
		return rc;
	row.target = to.snap_id;
	if (check_idle(m, name, e) ||
	    check_others(m, ns, name, to.snap_id, e) ||
	    check_edits(m, ns, name, to.snap_id, e) ||
	    vfs_open(&v, m->f->db, name, WHO, e))
		return -1;
	snprintf(before, sizeof before, REWIND_PREFIX "%" PRId64, rewind);
	rc = vfs_snapshot_hidden(v, before, &row.snap, e) ||
			     restore_to(v, to.snap, e)
		     ? -1
		     : 0;
	vfs_close(v);
	if (rc == 0 && sql_exec(m->f->db, Q_REWIND_WORKSPACE_ADD, &row, e) < 0)
		rc = -1;
	return rc;
}

static int last_rewind(struct move *m, struct rewind_last_row *out,
		       struct err *e)
{
	return sql_get(m->f->db, Q_REWIND_LAST,
		       &(struct rewind_last_in){m->s.id}, out, NULL, e);
}

static int rewind_in(struct move *m, struct err *e)
{
	struct marker_spaces_row *spaces;
	struct rewind_last_row last;
	int n;

	if (session_need(m->f, m->key, &m->s, &m->mem, e) ||
	    session_rewind(m->f, m->key, m->seq, e) ||
	    last_rewind(m, &last, e) < 0 ||
	    fault_point(FAULT_rewind_transcript, e))
		return -1;
	n = sql_collect(m->f->db, Q_MARKER_SPACES,
			&(struct marker_spaces_in){m->s.id}, 100000, &spaces,
			&m->mem, e);
	if (n <= 0)
		return n < 0 ? -1 : no_marker(m, e);
	for (int i = 0; i < n; i++)
		if (rewind_space(m, last.id, spaces[i].ns, spaces[i].name, e))
			return -1;
	return fault_point(FAULT_rewind_files, e);
}

static int in_transaction(struct move *m,
			  int (*fn)(struct move *, struct err *), struct err *e)
{
	int rc = sql_enter(m->f->db, e);

	if (rc == 0)
		rc = sql_leave(m->f->db, fn(m, e), e);
	if (rc == 0)
		rc = fault_point(FAULT_rewind_committed, e);
	arena_fini(&m->mem);
	return rc;
}

int session_rewind_files(struct agent_file *f, const char *key, int64_t seq,
			 bool force, struct err *e)
{
	struct move m = {.f = f, .key = key, .seq = seq, .force = force};

	return in_transaction(&m, rewind_in, e);
}

/* --- restore ------------------------------------------------------------- */

static int restore_space(struct move *m, const struct rewind_workspaces_row *w,
			 struct err *e)
{
	struct vfs_restore r = {.to = w->snap, .from = w->target};
	struct vfs *v;
	int rc;

	if (!w->name || !w->snap)
		return err_set(e, ERR_NOTFOUND,
			       "session '%s': the files from before the rewind "
			       "were deleted; 'skep session restore "
			       "--transcript' restores only the events",
			       quoted(m->key).text);
	if (check_idle(m, w->name, e) ||
	    vfs_open(&v, m->f->db, w->name, WHO, e))
		return -1;
	if (m->force)
		r.m.strategy = VFS_STRATEGY_FORK;
	rc = vfs_restore(v, &r, e);
	vfs_close(v);
	if (rc && e->code == ERR_CONFLICT)
		err_set(e, ERR_CONFLICT,
			"%" PRId64 " %s of the namespace '%s' changed after "
			"the rewind; --force discards that",
			r.m.conflicts,
			text_plural(r.m.conflicts, "path", "paths"), w->name);
	return rc;
}

static int restore_in(struct move *m, struct err *e)
{
	struct rewind_workspaces_row *rows;
	struct rewind_last_row last;
	int found, n = 0;

	if (session_need(m->f, m->key, &m->s, &m->mem, e))
		return -1;
	found = last_rewind(m, &last, e);
	if (found < 0 || session_restore(m->f, m->key, e) ||
	    fault_point(FAULT_rewind_transcript, e))
		return -1;
	n = sql_collect(m->f->db, Q_REWIND_WORKSPACES,
			&(struct rewind_workspaces_in){last.id}, 100000, &rows,
			&m->mem, e);
	for (int i = 0; i < n; i++)
		if (restore_space(m, &rows[i], e))
			return -1;
	return n < 0 ? -1 : fault_point(FAULT_rewind_files, e);
}

int session_restore_files(struct agent_file *f, const char *key, bool force,
			  struct err *e)
{
	struct move m = {.f = f, .key = key, .force = force};

	return in_transaction(&m, restore_in, e);
}

/* --- fork ---------------------------------------------------------------- */

struct fork_job {
	struct move m; /* first */
	const struct fork_new *n;
	const char *workspace;
	struct session_row *row;
	struct arena *a;
};

/* The marker may be one of the session that this one was forked from. */
static int find_marker(struct move *m, struct marker_row *out, struct err *e)
{
	struct session_row s = m->s;
	int64_t seq = m->seq;
	int found;

	for (;;) {
		found = sql_get(m->f->db, Q_MARKER_NEWEST,
				&(struct marker_newest_in){s.id, seq}, out,
				&m->mem, e);
		if (found || s.base == OPT_NONE)
			break;
		seq = seq < s.base_seq ? seq : s.base_seq;
		if (sql_get(m->f->db, Q_SESSION_BY_ID,
			    &(struct session_by_id_in){s.base}, &s, &m->mem,
			    e) <= 0)
			return -1;
	}
	return found > 0 ? 0 : found < 0 ? -1 : no_marker(m, e);
}

static int fork_space(struct fork_job *j, struct err *e)
{
	struct move *m = &j->m;
	struct session_set_workspace_in in = {j->row->id, j->workspace,
					      clock_now()};
	struct marker_row at;
	struct vfs *v;
	int rc;

	if (find_marker(m, &at, e) ||
	    vfs_open(&v, m->f->db,
		     arena_printf(&m->mem, "%s@%s", at.ns, at.snap), WHO, e))
		return -1;
	rc = vfs_fork(v, j->workspace, e);
	vfs_close(v);
	if (rc || sql_exec(m->f->db, Q_SESSION_SET_WORKSPACE, &in, e) < 0)
		return -1;
	return session_need(m->f, j->n->key, j->row, j->a, e);
}

static int fork_in(struct move *m, struct err *e)
{
	struct fork_job *j = (struct fork_job *)m;

	if (session_need(m->f, m->key, &m->s, &m->mem, e) ||
	    session_fork(m->f, j->n, j->row, j->a, e) ||
	    fault_point(FAULT_rewind_transcript, e))
		return -1;
	m->seq = j->row->base != OPT_NONE ? j->row->base_seq : j->n->at;
	if (m->seq == 0)
		m->seq = INT64_MAX;
	return fork_space(j, e) ? -1 : fault_point(FAULT_rewind_files, e);
}

int session_fork_files(struct agent_file *f, const struct fork_new *n,
		       const char *workspace, struct session_row *row,
		       struct arena *a, struct err *e)
{
	struct fork_job j = {.m = {.f = f, .key = n->from, .seq = n->at},
			     .n = n,
			     .workspace = workspace ? workspace : n->key,
			     .row = row,
			     .a = a};

	if (text_check_name("the namespace of the new session", j.workspace, e))
		return -1;
	return in_transaction(&j.m, fork_in, e);
}
