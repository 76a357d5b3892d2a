#include "supervisor/experiment/work.h"

#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent/agent_file.h"
#include "schema/control/run_workspace.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/merge.h"
#include "vfs/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define WHO           "experiment"
#define CONFLICTS_MAX 200 /* paths that are listed */

/* --- in the thread ------------------------------------------------------- */

/* The agent's own namespace is created by its first run, or here. */
static int create_source(struct experiment_work *w, struct sql *db,
			 struct err *e)
{
	bool own = !strcmp(w->source, WORKSPACE_MAIN) && w->owns_snapshot;

	if (own && !strcmp(w->mode, "disk"))
		return err_set(e, ERR_UNSUPPORTED,
			       "agent %s works in a directory of the host, "
			       "which cannot be forked; set its workspace to "
			       "vfs-scratch or vfs-only, or start from a "
			       "namespace (--from)",
			       w->agent);
	if (!own)
		return err_set(e, ERR_NOTFOUND,
			       "agent %s has no namespace %s; 'skep namespace "
			       "ls' lists its namespaces",
			       w->agent, w->source);
	if (w->dir && home_check_lower(w->home, w->dir, e))
		return -1;
	return vfs_create(db, w->source, w->dir, e);
}

static int prepare(struct experiment_work *w, struct sql *db, struct err *e)
{
	const char *name = w->owns_snapshot
				   ? w->source
				   : arena_printf(&w->mem, "%s@%s", w->source,
						  w->snapshot);
	struct vfs *v;
	int rc = vfs_open(&v, db, name, WHO, e);

	if (rc && e->code == ERR_NOTFOUND && w->owns_snapshot)
		rc = create_source(w, db, e) ? -1
					     : vfs_open(&v, db, name, WHO, e);
	if (rc)
		return -1;
	if (w->owns_snapshot) {
		rc = vfs_snapshot(v, w->snapshot, e);
		if (rc && e->code == ERR_CONFLICT)
			rc = 0; /* taken before skepd was killed */
	}
	vfs_close(v);
	return rc ? -1 : fault_point(FAULT_experiment_prepared, e);
}

static int count_difference(void *arg, const struct vfs_difference *d,
			    struct err *e)
{
	(void)d;
	(void)e;
	++*(int64_t *)arg;
	return 0;
}

/* A run that never started has no fork. */
static int count_files(struct experiment_work *w, struct sql *db, struct err *e)
{
	struct diff_source from = {0}, to = {0};
	const char *start = arena_printf(&w->mem, "%s@%s", w->fork,
					 VFS_FORK_POINT);
	int rc = vfs_open(&to.v, db, w->fork, WHO, e);

	if (rc && e->code == ERR_NOTFOUND) {
		w->count = OPT_NONE;
		return 0;
	}
	if (rc == 0)
		rc = vfs_open(&from.v, db, start, WHO, e);
	if (rc == 0)
		rc = vfs_diff(&from, &to, count_difference, &w->count, e);
	vfs_close(from.v);
	vfs_close(to.v);
	return rc ? -1 : fault_point(FAULT_experiment_counted, e);
}

static void note_conflict(void *arg, const struct vfs_difference *d,
			  bool conflict)
{
	struct experiment_work *w = arg;

	if (conflict && w->count++ < CONFLICTS_MAX)
		json_add_text(&w->conflicts, d->path);
}

static int merge_own(struct experiment_work *w, struct sql *db,
		     struct vfs_merge *m, struct err *e)
{
	struct vfs *fork;
	int rc;

	if (vfs_open(&fork, db, w->fork, WHO, e))
		return -1;
	rc = vfs_merge(fork, m, e);
	vfs_close(fork);
	return rc;
}

/* From the file of another agent. */
static int merge_from(struct experiment_work *w, struct sql *db,
		      struct vfs_merge *m, struct err *e)
{
	struct vfs *fork = NULL, *source = NULL;
	struct agent_file f;
	int rc;

	if (agent_file_open(&f, w->fork_path, w->fork_agent, 0, e))
		return -1;
	rc = vfs_open(&fork, f.db, w->fork, WHO, e) ||
	     vfs_open(&source, db, w->source, WHO, e);
	rc = rc ? -1 : vfs_merge_across(fork, source, m, e);
	vfs_close(fork);
	vfs_close(source);
	agent_file_close(&f);
	return rc;
}

/* If it was merged before skepd was killed, there is nothing left to merge. */
static int merge(struct experiment_work *w, struct sql *db, struct err *e)
{
	struct vfs_merge m = {.report = note_conflict,
			      .arg = w,
			      .ours = w->ours,
			      .theirs = w->theirs};
	int rc;

	if (w->strategy)
		m.strategy = !strcmp(w->strategy, "theirs")
				     ? VFS_STRATEGY_FORK
				     : VFS_STRATEGY_PARENT;
	json_begin_array(&w->conflicts);
	rc = w->fork_path ? merge_from(w, db, &m, e) : merge_own(w, db, &m, e);
	json_end_array(&w->conflicts);
	w->count = m.applied;
	return rc ? -1 : fault_point(FAULT_experiment_merged, e);
}

static int drop_fork(struct experiment_work *w, struct sql *db, struct err *e)
{
	if (vfs_destroy(db, w->fork, e) && e->code != ERR_NOTFOUND)
		return -1;
	return fault_point(FAULT_experiment_fork_dropped, e);
}

static int drop_snapshot(struct experiment_work *w, struct sql *db,
			 struct err *e)
{
	struct vfs *v;
	int rc = vfs_open(&v, db, w->source, WHO, e);

	if (rc == 0) {
		rc = vfs_snapshot_drop(v, w->snapshot, e);
		vfs_close(v);
	}
	if (rc && e->code != ERR_NOTFOUND)
		return -1;
	return fault_point(FAULT_experiment_snapshot_dropped, e);
}

static int carry_out(struct experiment_work *w, struct sql *db, struct err *e)
{
	switch (w->step) {
	case STEP_PREPARE:
		return prepare(w, db, e);
	case STEP_COUNT_FILES:
		return count_files(w, db, e);
	case STEP_MERGE:
		return merge(w, db, e);
	case STEP_DROP_FORK:
		return drop_fork(w, db, e);
	case STEP_DROP_SNAPSHOT:
		return drop_snapshot(w, db, e);
	}
	return 0;
}

static void in_thread(struct agent_work *work)
{
	struct experiment_work *w = work->data;
	struct agent_file f;

	w->rc = agent_file_open(&f, w->path, w->agent, 0, &w->err);
	if (w->rc)
		return;
	w->rc = carry_out(w, f.db, &w->err);
	agent_file_close(&f);
}

/* --- on the loop --------------------------------------------------------- */

static int record_in(struct experiment_work *w, struct err *e)
{
	return txn_begin(&w->sup->txn, e) ? -1 : w->record(w, e);
}

static void on_done(struct agent_work *work)
{
	struct experiment_work *w = work->data;
	struct supervisor *s = w->sup;
	struct err e;

	s->experiments->working--;
	if (w->rc)
		log_warn(LT("msg", "a step of an experiment failed"),
			 LT("experiment", w->experiment),
			 LT("error", w->err.text));
	txn_try_begin(&s->txn);
	if (txn_try_end(&s->txn, record_in(w, &e), &e)) {
		log_error(LT("msg", "an experiment cannot be continued"),
			  LT("experiment", w->experiment), LT("error", e.text));
		s->experiments->failed = true; /* repeated later */
	}
	experiments_wake(s);
	experiment_work_free(w);
}

static void submit_work(void *arg, const struct err *failed)
{
	struct experiment_work *w = arg;

	if (failed) {
		w->sup->experiments->working--;
		experiment_work_free(w);
		return;
	}
	agent_work_submit(w->sup->agent_threads, &w->work);
}

struct experiment_work *experiment_work_new(struct supervisor *s,
					    enum experiment_step step)
{
	struct experiment_work *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->sup = s;
	w->step = step;
	buf_init(&w->conflicts, 1 << 20);
	return w;
}

void experiment_work_free(struct experiment_work *w)
{
	buf_fini(&w->conflicts);
	arena_fini(&w->mem);
	free(w);
}

void experiment_work_start(struct experiment_work *w)
{
	w->work = (struct agent_work){.agent = w->agent,
				      .data = w,
				      .in_thread = in_thread,
				      .done = on_done};
	w->sup->experiments->working++;
	txn_on_commit(&w->sup->txn, submit_work, w);
}
