#ifndef SUPERVISOR_RUN_BUDGET_H
#define SUPERVISOR_RUN_BUDGET_H

#include "schema/control/budget.h"
#include "supervisor/run/worker_request.h"

/*
 * Budgets of runs. A queued run whose budget is exhausted stays in its queue or
 * fails. A worker reserves each call of a model (`reserve`), and reports what it
 * used; the time of runs is charged every few seconds. At a hard limit, the run is
 * paused until the budget is available again, or ended with the reason `budget`.
 * At a soft limit, the worker asks a user.
 *
 *   reserve  {"tokens", "cost_micros",           estimates of the call
 *             "spent": {"tokens", "cost_micros"}, of the attempt
 *             "each": true}                      it reserves each call
 *            {"decision": "free"|"ask"|"end", "key", "detail"}
 */
void budgets_open(struct supervisor *s);

/* In the transaction that starts a run. 1: it may start; 0: it stays in the queue
 * or was rejected. */
int budget_admit(struct supervisor *s, const struct run_active_row *row,
		 struct err *e);
/* The run starts: counts it. */
int budget_started(struct active_run *l, struct err *e);

int budget_on_reserve(struct active_run *l, const struct worker_request *q,
		      const cJSON *args, struct err *e);
int budget_on_usage(struct active_run *l, const struct msg_usage *m,
		    struct err *e);
/* In the transaction of a transition. */
int budget_on_transition(struct active_run *l, enum run_state from,
			 enum run_state to, struct err *e);

/* A user answered a question about a budget: marks it as allowed. */
bool budget_is_key(const char *key);
int budget_on_answer(struct supervisor *s, const struct approval_row *row,
		     bool allow, struct err *e);

/* Every tick of skepd. */
void budgets_tick(struct supervisor *s);
void budgets_free(struct supervisor *s);

#endif
