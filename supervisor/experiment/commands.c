#include "supervisor/core/experiments.h"
#include "supervisor/experiment/internal.h"

#include "lib/base/text.h"
#include "schema/control/control.h"

#include <string.h>

/* ERR_NOTFOUND */
static int find_experiment(struct supervisor *s, const char *id,
			   struct experiment_row *out, struct arena *a,
			   struct err *e)
{
	struct experiment_get_in key = {id};
	int found = sql_get(s->db, Q_EXPERIMENT_GET, &key, out, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no experiment %s",
			       quoted(id).text);
	return found < 0 ? -1 : 0;
}

/* The experiment must be in one of these states. */
static int require_state(const struct experiment_row *row, const char *states,
			 struct err *e)
{
	struct err ignored;

	if (text_check_word("state", states, row->state, &ignored) == 0)
		return 0;
	return err_set(e, ERR_CONFLICT, "experiment %s is %s", row->id,
		       row->state);
}

/* The end of each command. */
static int changed(struct supervisor *s, const char *id, const char *act,
		   const char *note, const char *by, struct completion done,
		   struct err *e)
{
	if (control_audit(s->db, by, act, id, NULL, e))
		return -1;
	experiments_wake(s);
	complete_later(s, done, id, true, note);
	return 0;
}

/* --- pick ---------------------------------------------------------------- */

static int check_choice(struct supervisor *s, const struct experiment_row *row,
			const struct experiment_choice *c, struct arena *a,
			struct err *e)
{
	struct trial_get_in key = {row->id, c->trial};
	struct trial_row trial;
	int found;

	if (require_state(row, "done|picked", e))
		return -1;
	found = sql_get(s->db, Q_TRIAL_GET, &key, &trial, a, e);
	if (found < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_NOTFOUND,
			       "experiment %s has no trial %lld", row->id,
			       (long long)c->trial);
	if (!trial.has_fork)
		return err_set(e, ERR_CONFLICT,
			       "trial %lld has no files: its fork was deleted, "
			       "or its run never started",
			       (long long)c->trial);
	return 0;
}

static int pick(struct supervisor *s, const struct experiment_choice *c,
		const char *by, struct completion done, struct err *e)
{
	struct experiment_pick_in in = {.id = c->id,
					.trial = c->trial,
					.strategy = c->strategy,
					.ours = c->ours ? c->ours : "[]",
					.theirs = c->theirs ? c->theirs : "[]",
					.keep = c->keep};
	struct experiment_row row;
	struct arena a = {0};
	int rc = find_experiment(s, c->id, &row, &a, e);

	if (rc == 0)
		rc = check_choice(s, &row, c, &a, e);
	arena_fini(&a);
	if (rc || txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_EXPERIMENT_PICK, &in, e) < 0)
		return -1;
	return changed(s, c->id, "experiment.pick", "picking", by, done, e);
}

int supervisor_experiment_pick(struct supervisor *s,
			       const struct experiment_choice *choice,
			       const char *by, struct completion done,
			       struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, pick(s, choice, by, done, e), e);
}

/* --- drop ---------------------------------------------------------------- */

static int drop(struct supervisor *s, const char *id, const char *by,
		struct completion done, struct err *e)
{
	struct cancel_filter runs = {.tag = id, .reason = "experiment dropped"};
	struct completion no_reply = {0};
	struct experiment_set_state_in set = {.id = id, .to_state = "dropping"};
	struct experiment_row row;
	struct arena a = {0};
	int rc = find_experiment(s, id, &row, &a, e);

	if (rc == 0)
		rc = require_state(&row, "running|done|picked|failed", e);
	if (rc == 0 && txn_begin(&s->txn, e))
		rc = -1;
	set.from_state = row.state;
	if (rc == 0 && (sql_exec(s->db, Q_EXPERIMENT_SET_STATE, &set, e) < 0 ||
			supervisor_cancel_runs(s, &runs, by, no_reply, e)))
		rc = -1;
	arena_fini(&a);
	return rc ? -1
		  : changed(s, id, "experiment.drop", "dropping", by, done, e);
}

int supervisor_experiment_drop(struct supervisor *s, const char *id,
			       const char *by, struct completion done,
			       struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, drop(s, id, by, done, e), e);
}

/* --- resume, extend ------------------------------------------------------ */

static int run_again(struct supervisor *s, const char *id, struct err *e)
{
	struct experiment_run_again_in again = {id};

	return sql_exec(s->db, Q_EXPERIMENT_RUN_AGAIN, &again, e) < 0 ? -1 : 0;
}

static int resume(struct supervisor *s, const char *id, const char *by,
		  struct completion done, struct err *e)
{
	struct trial_again_in in = {id};
	struct experiment_row row;
	struct arena a = {0};
	int n = find_experiment(s, id, &row, &a, e);

	if (n == 0)
		n = require_state(&row, "running|done", e);
	if (n == 0 && txn_begin(&s->txn, e))
		n = -1;
	if (n == 0)
		n = sql_exec(s->db, Q_TRIAL_AGAIN, &in, e);
	arena_fini(&a);
	if (n < 0)
		return -1;
	if (n == 0) {
		complete_later(s, done, id, false,
			       "no trial has failed or was cancelled");
		return 0;
	}
	return run_again(s, id, e) ? -1
				   : changed(s, id, "experiment.resume",
					     "resumed", by, done, e);
}

int supervisor_experiment_resume(struct supervisor *s, const char *id,
				 const char *by, struct completion done,
				 struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, resume(s, id, by, done, e), e);
}

static int extend(struct supervisor *s, const char *id, int64_t runs,
		  const char *by, struct completion done, struct err *e)
{
	struct trial_last_in key = {id};
	struct trial_last_row last;
	struct experiment_row row;
	struct arena a = {0};
	int rc = find_experiment(s, id, &row, &a, e);

	if (rc == 0)
		rc = require_state(&row, "running|done", e);
	if (rc == 0 && txn_begin(&s->txn, e))
		rc = -1;
	if (rc == 0 && sql_get(s->db, Q_TRIAL_LAST, &key, &last, &a, e) != 1)
		rc = -1;
	arena_fini(&a);
	if (rc || experiment_add_trials(s, id, runs, last.seed + 1, e) ||
	    run_again(s, id, e))
		return -1;
	return changed(s, id, "experiment.extend", "extended", by, done, e);
}

int supervisor_experiment_extend(struct supervisor *s, const char *id,
				 int64_t runs, const char *by,
				 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, extend(s, id, runs, by, done, e), e);
}
