#include "supervisor/experiment/experiment.h"
#include "supervisor/experiment/work.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <stdlib.h>
#include <string.h>

/* Finds rows whose next step is due, and carries the step out or starts a thread
 * that does. */

#define TRIALS_PER_TURN 200
#define SCAN_TICKS      20 /* between two scans without a hint */

void experiments_wake(struct supervisor *s)
{
	s->experiments->due = true;
}

/* --- trials --------------------------------------------------------------- */

static int end_experiment(struct supervisor *s, const char *id, struct err *e)
{
	struct experiment_end_in in = {id, clock_now()};
	int n = sql_exec(s->db, Q_EXPERIMENT_END, &in, e);

	s->host_changed |= n > 0;
	return n < 0 ? -1 : 0;
}

static int record_counted(struct experiment_work *w, struct err *e)
{
	struct trial_end_in in = {w->experiment, w->trial,
				  w->rc ? OPT_NONE : w->count};
	struct trial_fork_gone_in gone = {w->experiment, w->trial};

	if (sql_exec(w->sup->db, Q_TRIAL_END, &in, e) < 0 ||
	    (w->rc == 0 && w->count == OPT_NONE &&
	     sql_exec(w->sup->db, Q_TRIAL_FORK_GONE, &gone, e) < 0))
		return -1;
	return end_experiment(w->sup, w->experiment, e);
}

static int record_old_fork_gone(struct experiment_work *w, struct err *e)
{
	struct trial_fork_gone_in in = {w->experiment, w->trial};

	return sql_exec(w->sup->db, Q_TRIAL_FORK_GONE, &in, e) < 0 ? -1 : 0;
}

/* A step in the fork of a trial. If the file cannot be used, the trial ends. */
static int begin_trial_work(struct supervisor *s,
			    const struct trial_next_row *t,
			    enum experiment_step step, struct err *e)
{
	struct experiment_work *w = experiment_work_new(s, step);
	struct trial_set_working_in working = {t->experiment, t->number};
	struct trial_fail_in fail = {t->experiment, t->number, NULL};
	struct err why;
	int rc = experiment_open_file(w, t->agent, &why);

	w->record = step == STEP_COUNT_FILES ? record_counted
					     : record_old_fork_gone;
	w->experiment = arena_text(&w->mem, t->experiment);
	w->trial = t->number;
	w->fork = arena_text(&w->mem, t->fork);
	if (rc == 0 && sql_exec(s->db, Q_TRIAL_SET_WORKING, &working, e) >= 0) {
		experiment_work_start(w);
		return 0;
	}
	experiment_work_free(w);
	if (rc >= 0)
		return rc ? 1 : -1;
	fail.detail = why.text;
	return sql_exec(s->db, Q_TRIAL_FAIL, &fail, e) < 0
		       ? -1
		       : end_experiment(s, t->experiment, e);
}

/* The check runs only where the run succeeded. */
static int advance_trial(struct supervisor *s, const struct trial_next_row *t,
			 struct err *e)
{
	struct run_activity ignored;
	int rc;

	if (!strcmp(t->state, "ran") &&
	    supervisor_run_activity(s, t->run, &ignored))
		return 1; /* it has not left its workspace; a hint follows */
	if (!strcmp(t->state, "waiting") && t->has_fork)
		return begin_trial_work(s, t, STEP_DROP_FORK, e);
	if (!strcmp(t->state, "waiting"))
		rc = trial_start(s, t, e);
	else if (!strcmp(t->state, "ran") && t->check_command &&
		 !strcmp(t->outcome, "succeeded"))
		rc = trial_check(s, t, e);
	else
		return begin_trial_work(s, t, STEP_COUNT_FILES, e);
	return rc ? -1 : end_experiment(s, t->experiment, e);
}

static int advance_trials(struct supervisor *s, struct err *e)
{
	struct trial_next_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_TRIAL_NEXT, NULL, TRIALS_PER_TURN, &rows,
			    &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++)
		rc = advance_trial(s, &rows[i], e) < 0 ? -1 : 0;
	s->experiments->due |= n == TRIALS_PER_TURN;
	arena_fini(&a);
	return rc;
}

/* --- hints ---------------------------------------------------------------- */

static int advance(struct supervisor *s, struct err *e)
{
	return txn_begin(&s->txn, e) || advance_experiments(s, e) ||
			       advance_trials(s, e)
		       ? -1
		       : 0;
}

void experiments_before_commit(struct supervisor *s)
{
	struct err e;

	/* NULL: skepd stops before it has started */
	if (!s->experiments || !s->experiments->due || s->stopping)
		return;
	s->experiments->due = false;
	txn_try_begin(&s->txn);
	if (txn_try_end(&s->txn, advance(s, &e), &e)) {
		s->experiments->failed = true;
		log_error(LT("msg", "experiments cannot be continued"),
			  LT("error", e.text));
	}
}

static void wake_after(void *arg, const struct err *failed)
{
	(void)failed;
	experiments_wake(arg);
}

/* After the commit: only then has the run left its workspace. */
static void on_change(struct supervisor *s, const struct hint *h)
{
	(void)h;
	txn_on_commit(&s->txn, wake_after, s);
}

/* No thread works: whatever a row says. */
static int reset_rows(struct supervisor *s, struct err *e)
{
	return sql_exec(s->db, Q_EXPERIMENT_RESET, NULL, e) < 0 ||
			       sql_exec(s->db, Q_TRIAL_RESET, NULL, e) < 0
		       ? -1
		       : 0;
}

void experiments_tick(struct supervisor *s)
{
	struct experiments *x = s->experiments;
	struct err e;

	if (s->ticks % SCAN_TICKS != 0)
		return;
	if (x->failed && x->working == 0 && txn_begin(&s->txn, &e) == 0 &&
	    reset_rows(s, &e) == 0)
		x->failed = false;
	x->due = true;
}

int experiments_open(struct supervisor *s, struct err *e)
{
	s->experiments = calloc(1, sizeof *s->experiments);
	if (!s->experiments)
		abort();
	on_hint(s, HINT_RUN_ENDED, on_change);
	on_hint(s, HINT_AGENT_FILE, on_change);
	if (s->read_only)
		return 0;
	if (sql_enter(s->db, e) || sql_leave(s->db, reset_rows(s, e), e))
		return -1;
	experiments_wake(s);
	return 0;
}

void experiments_free(struct supervisor *s)
{
	free(s->experiments);
	s->experiments = NULL;
}
