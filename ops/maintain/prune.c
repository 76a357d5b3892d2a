#include "ops/maintain/prune.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "ops/maintain/batch.h"
#include "schema/agent/artifact.h"
#include "schema/agent/transcript/event.h"
#include "schema/control/run_prune.h"
#include "schema/control_queries.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

SHAPE_DEFINE(pruned, PRUNED);

#define SESSIONS_MAX (1 << 20)

struct job {
	struct agent_file *file;
	const struct prune_options *options;
	struct pruned *out;
	struct batch batch;
	int64_t id, lo; /* of the current session */
};

/* --- gather: old sessions are marked ----------------------------------- */

static bool is_busy(const struct prune_options *options, const char *key)
{
	for (int i = 0; i < options->nbusy; i++)
		if (!strcmp(options->busy[i], key))
			return true;
	return false;
}

static int mark_sessions(struct sql *db, int64_t count, void *arg,
			 struct err *e)
{
	const struct job *j = arg;
	struct prune_mark_in in = {j->id, j->options->before, clock_now()};

	(void)count;
	return sql_exec(db, Q_PRUNE_MARK, &in, e);
}

static int gather(struct job *j, struct err *e)
{
	struct prune_sessions_in in = {j->options->before, j->options->keep};
	struct prune_sessions_row *rows;
	struct arena a = {0};
	int n = sql_collect(j->file->db, Q_PRUNE_SESSIONS, &in, SESSIONS_MAX,
			    &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc >= 0 && i < n; i++) {
		if (is_busy(j->options, rows[i].key))
			continue;
		j->id = rows[i].id;
		rc = batch_run(&j->batch, j->file->db, mark_sessions, j, e);
		j->out->sessions += rc > 0;
	}
	arena_fini(&a);
	return rc < 0 ? -1 : fault_point(FAULT_prune_marked, e);
}

/* --- deletion: marked sessions are emptied and removed --------------------------- */

static int drop_events(struct sql *db, int64_t count, void *arg, struct err *e)
{
	const struct job *j = arg;
	struct event_delete_range_in in = {event_pos(j->id, j->lo),
					   event_pos(j->id, EVENT_SEQ_MAX),
					   count};

	return fault_point(FAULT_prune_batch, e)
		       ? -1
		       : sql_exec(db, Q_EVENT_DELETE_RANGE, &in, e);
}

static int drop_artifacts(struct sql *db, int64_t count, void *arg,
			  struct err *e)
{
	const struct job *j = arg;
	struct prune_artifacts_in in = {j->id, count};

	return sql_exec(db, Q_PRUNE_ARTIFACTS, &in, e);
}

static int drop_row(struct sql *db, int64_t count, void *arg, struct err *e)
{
	const struct job *j = arg;

	(void)count;
	return sql_exec(db, Q_RUN_LOCAL_DELETE,
			&(struct run_local_delete_in){j->id}, e) < 0 ||
			       sql_exec(db, Q_GRANT_DELETE_ALL,
					&(struct grant_delete_all_in){j->id},
					e) < 0
		       ? -1
		       : sql_exec(db, Q_SESSION_DELETE_ROW,
				  &(struct session_delete_row_in){j->id}, e);
}

static int gc_one(struct job *j, const struct prune_marked_row *row,
		  struct err *e)
{
	struct sql *db = j->file->db;
	int64_t events, made = 0;

	j->id = row->id;
	j->lo = row->forks ? row->need + 1 : 1;
	events = batch_all(&j->batch, db, drop_events, j, e);
	if (events >= 0 && !row->forks)
		made = batch_all(&j->batch, db, drop_artifacts, j, e);
	if (events < 0 || made < 0)
		return -1;
	j->out->events += events;
	j->out->artifacts += made;
	if (row->forks)
		return 0;
	return batch_run(&j->batch, db, drop_row, j, e) < 0 ? -1 : 0;
}

/* Newest first, and again as long as something was deleted: a session may have
 * been kept only for a fork that is now gone. */
static int delete_marked(struct job *j, struct err *e)
{
	struct prune_marked_in in = {INT64_MAX};
	struct prune_marked_row row;
	int found;

	while ((found = sql_get(j->file->db, Q_PRUNE_MARKED, &in, &row, NULL,
				e)) > 0) {
		if (gc_one(j, &row, e))
			return -1;
		in.after = row.id;
	}
	return found;
}

/* --- workspaces ----------------------------------------------------------- */

struct dropping {
	struct vfs *v;
	struct vfs_drop at;
};

static int drop_some(struct sql *db, int64_t count, void *arg, struct err *e)
{
	struct dropping *w = arg;

	(void)db;
	return fault_point(FAULT_prune_snapshot, e)
		       ? -1
		       : vfs_snapshot_drop_some(w->v, &w->at, count, e);
}

/* Hidden first, then deleted row by row, together with those of a killed
 * call. */
static int drop_snapshots(struct job *j, const char *name, struct arena *a,
			  struct err *e)
{
	struct vfs_snapshot *snaps;
	struct dropping w = {0};
	int rc = 0, n;

	if (vfs_open(&w.v, j->file->db, name, "prune", e))
		return -1;
	n = vfs_snapshots(w.v, &snaps, a, e);
	for (int i = 0; !rc && i < n; i++) {
		if (snaps[i].made_at / 1000000 >= j->options->before)
			continue;
		rc = vfs_snapshot_hide(w.v, snaps[i].name, e);
		j->out->snapshots += rc == 0;
	}
	if (!rc && n >= 0 &&
	    batch_all(&j->batch, j->file->db, drop_some, &w, e) < 0)
		rc = -1;
	vfs_close(w.v);
	return n < 0 ? -1 : rc;
}

static int prune_spaces(struct job *j, struct err *e)
{
	struct prune_spaces_row *rows;
	struct arena a = {0};
	int n = sql_collect(j->file->db, Q_PRUNE_SPACES, NULL, SESSIONS_MAX,
			    &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; !rc && i < n; i++)
		rc = drop_snapshots(j, rows[i].name, &a, e);
	arena_fini(&a);
	return rc;
}

/* --- the whole ------------------------------------------------------------ */

int prune_agent(struct agent_file *f, const struct prune_options *options,
		struct pruned *out, struct err *e)
{
	struct job j = {.file = f,
			.options = options,
			.out = out,
			.batch = BATCH_BEGIN};
	int64_t pages = 0, size = 0;

	*out = (struct pruned){.database = "agent", .agent = f->agent};
	j.batch.until = options->until;
	if (gather(&j, e) || delete_marked(&j, e) < 0 || prune_spaces(&j, e) ||
	    artifact_gc(f->db, 0, INT_MAX, e) < 0 ||
	    sql_script_i64(f->db, "PRAGMA page_size", &size, e))
		return -1;
	pages = batch_vacuum(&j.batch, f->db, INT64_MAX, e);
	out->freed_bytes = pages * size;
	return pages < 0 ? -1 : 0;
}

int prune_edge(struct sql *control, int64_t keep, char edge[64], struct err *e)
{
	struct prune_run_edge_row row;
	struct arena a = {0};
	int found = keep == 0 ? 1
			      : sql_get(control, Q_PRUNE_RUN_EDGE,
					&(struct prune_run_edge_in){keep}, &row,
					&a, e);

	/* fewer runs than are kept: delete none */
	snprintf(edge, 64, "%s", keep == 0 ? "~" : found <= 0 ? "" : row.id);
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

int prune_runs(struct sql *control, int64_t before, const char *edge,
	       int64_t count, struct err *e)
{
	struct run_prune in = {before, edge, count, 0};
	int64_t deleted = 0;
	int more;

	if (fault_point(FAULT_prune_batch, e))
		return -1;
	do {
		more = run_prune_step(control, &in, &deleted, e);
	} while (more > 0 && deleted == 0);
	return more < 0 ? -1 : (int)deleted;
}

struct nulling {
	int64_t after, before;
	bool more;
};

static int null_some(struct sql *db, int64_t count, void *arg, struct err *e)
{
	struct nulling *w = arg;
	struct null_next_in options = {w->after, w->before, count};
	struct null_next_row range;
	struct null_events_in in;
	struct null_parts_in parts;
	int n;

	if (fault_point(FAULT_prune_batch, e) ||
	    sql_get(db, Q_NULL_NEXT, &options, &range, NULL, e) < 0)
		return -1;
	w->more = range.n > 0;
	if (!w->more)
		return 0;
	w->after = range.hi;
	in = (struct null_events_in){range.lo, range.hi, w->before};
	parts = (struct null_parts_in){range.lo, range.hi, w->before};
	n = sql_exec(db, Q_NULL_EVENTS, &in, e);
	return n < 0 || sql_exec(db, Q_NULL_PARTS, &parts, e) < 0 ? -1 : n;
}

int64_t prune_content(struct agent_file *f, const struct prune_options *options,
		      struct err *e)
{
	struct nulling w = {0, options->before, true};
	struct batch s = BATCH_BEGIN;
	int64_t sum = 0;

	s.until = options->until;
	while (w.more) {
		int n = batch_run(&s, f->db, null_some, &w, e);

		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}
