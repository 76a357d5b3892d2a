#include "supervisor/run/budget.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

#define KEY_PREFIX "budget:"

/* A request that waits while its run is paused. Workers send requests again to
 * the next skepd. */
struct budget_wait {
	struct budget_wait *next;
	struct worker_request request;
	struct budget_amount estimate;
};

static bool has_budgets(struct supervisor *s)
{
	struct budget_list_in in = {"", 1};
	struct budget_row row;
	struct arena a = {0};
	struct err e;
	int found = sql_get(s->db, Q_BUDGET_LIST, &in, &row, &a, &e);

	arena_fini(&a);
	return found != 0;
}

static void budgets_changed(struct supervisor *s, const struct hint *h)
{
	(void)h;
	s->runs->has_budgets = has_budgets(s);
	s->runs->schedule = s->runs->alarm_stale = true;
}

void budgets_open(struct supervisor *s)
{
	s->runs->has_budgets = has_budgets(s);
	on_hint(s, HINT_BUDGET, budgets_changed);
}

static int identify(struct supervisor *s, const char *id, const char *agent,
		    const char *session, struct budget_run *out,
		    struct arena *a, struct err *e)
{
	*out = (struct budget_run){
		.id = id, .agent = agent, .session = session};
	return budget_find_channel(s->db, out, a, e);
}

static int identify_active(struct active_run *l, struct budget_run *out,
			   struct arena *a, struct err *e)
{
	return identify(l->sup, l->id, l->agent, l->session, out, a, e);
}

/* --- start ------------------------------------------------------------ */

static int reject_run(struct supervisor *s, const char *id, const char *detail,
		      struct err *e)
{
	struct transition_reason why = {.reason = "budget", .detail = detail};
	struct arena a = {0};
	struct run_row row;
	int rc = run_find(s, id, &row, &a, e);

	if (rc == 0)
		rc = transition_apply_queued(s, &row, RUN_EV_REJECT, &why, e);
	arena_fini(&a);
	return rc;
}

int budget_admit(struct supervisor *s, const struct run_active_row *row,
		 struct err *e)
{
	struct budget_decision d = {0};
	struct budget_delay_run_in delay = {.id = row->id};
	struct budget_run run;
	struct arena a = {0};
	int rc;

	if (!s->runs->has_budgets)
		return 1;
	rc = identify(s, row->id, row->agent, row->session, &run, &a, e);
	if (rc == 0)
		rc = budget_check(s->db, &run, true, clock_now(), &d, e);
	arena_fini(&a);
	if (rc)
		return -1;
	if (d.verdict == BUDGET_END)
		return reject_run(s, row->id, d.detail, e) ? -1 : 0;
	if (d.verdict != BUDGET_PAUSE)
		return 1;
	delay.due_at = d.resets_at;
	delay.detail = d.detail;
	s->runs->alarm_stale = true;
	return sql_exec(s->db, Q_BUDGET_DELAY_RUN, &delay, e) < 0 ? -1 : 0;
}

static int put_state(struct active_run *l, int64_t tokens, int64_t cost,
		     int64_t charged_at, struct err *e)
{
	struct budget_run_row row = {l->id, l->attempt, tokens, cost,
				     charged_at};

	return sql_exec(l->sup->db, Q_BUDGET_RUN_PUT, &row, e) < 0 ? -1 : 0;
}

int budget_started(struct active_run *l, struct err *e)
{
	struct budget_amount one = {.runs = l->attempt == 1};
	struct budget_run run;
	struct arena a = {0};
	int rc;

	if (!l->sup->runs->has_budgets)
		return 0;
	rc = identify_active(l, &run, &a, e);
	if (rc == 0)
		rc = budget_charge(l->sup->db, &run, &one, clock_now(), e);
	if (rc == 0)
		rc = put_state(l, 0, 0, OPT_NONE, e);
	arena_fini(&a);
	return rc;
}

/* --- limits ----------------------------------------------------------- */

static int pause_run(struct active_run *l, const char *detail, struct err *e)
{
	struct transition_reason why = {.reason = "budget", .detail = detail};

	if (l->state != RUN_RUNNING)
		return 0;
	return command_add(l->sup, l->id, "pause", "{}", "skepd", e) ||
			       transition_apply(l, RUN_EV_PAUSE, &why, e)
		       ? -1
		       : 0;
}

static int resume_run(struct active_run *l, struct err *e)
{
	struct transition_reason why = {.reason = run_reason_resumed};

	return command_add(l->sup, l->id, "resume", "{}", "skepd", e) ||
			       transition_apply(l, RUN_EV_RESUME, &why, e)
		       ? -1
		       : 0;
}

/* A hard limit may be reached: pauses or ends the run. */
static int enforce(struct active_run *l, const struct budget_run *run,
		   struct err *e)
{
	struct budget_decision d;

	if (budget_check(l->sup->db, run, false, clock_now(), &d, e))
		return -1;
	if (d.verdict == BUDGET_PAUSE)
		return pause_run(l, d.detail, e);
	if (d.verdict == BUDGET_END)
		return run_cancel_tree(l->sup, l->id, "budget", d.detail,
				       "skepd", e) < 0
			       ? -1
			       : 0;
	return 0;
}

/* --- charging --------------------------------------------------------- */

/* Charges the totals of the attempt, less those that were charged before, and
 * the time since the last charge. The reservation ends with the call. */
static int charge_totals(struct active_run *l, const struct budget_run *run,
			 int64_t tokens, int64_t cost, struct err *e)
{
	struct budget_run_get_in key = {l->id};
	struct budget_run_row row = {.charged_at = OPT_NONE};
	struct budget_hold_drop_in drop = {l->id};
	struct budget_amount more = {0};
	int64_t now = clock_now();
	struct arena a = {0};
	int found = sql_get(l->sup->db, Q_BUDGET_RUN_GET, &key, &row, &a, e);

	arena_fini(&a);
	if (found < 0)
		return -1;
	if (found == 1 && row.attempt == l->attempt) {
		more.tokens = tokens - row.tokens;
		more.micros = cost - row.cost_micros;
	} else {
		more.tokens = tokens;
		more.micros = cost;
	}
	if (row.charged_at != OPT_NONE && now > row.charged_at)
		more.ms = now - row.charged_at;
	if (more.tokens < 0)
		more.tokens = 0;
	if (more.micros < 0)
		more.micros = 0;
	if (budget_charge(l->sup->db, run, &more, now, e) ||
	    ((more.tokens || more.micros) &&
	     sql_exec(l->sup->db, Q_BUDGET_HOLD_DROP, &drop, e) < 0))
		return -1;
	return put_state(l, tokens, cost,
			 row.charged_at == OPT_NONE ? OPT_NONE : now, e);
}

int budget_on_usage(struct active_run *l, const struct msg_usage *m,
		    struct err *e)
{
	struct budget_run run;
	struct arena a = {0};
	int rc;

	if (!l->sup->runs->has_budgets)
		return 0;
	rc = identify_active(l, &run, &a, e);
	if (rc == 0)
		rc = charge_totals(l, &run, m->input_tokens + m->output_tokens,
				   m->cost_micros, e);
	if (rc == 0 && !l->reserves_calls)
		rc = enforce(l, &run, e);
	arena_fini(&a);
	return rc;
}

/* A call that was reserved and never charged may have been paid for. */
static int charge_reservation(struct active_run *l, struct err *e)
{
	struct budget_holds_in key = {l->id};
	struct budget_hold_drop_in drop = {l->id};
	struct budget_hold_row *rows;
	struct arena a = {0};
	int64_t now = clock_now(), end;
	int n = sql_collect(l->sup->db, Q_BUDGET_HOLDS, &key, 1000, &rows, &a,
			    e);

	for (int i = 0; i < n; i++) {
		struct budget_charge_in in = {.budget = rows[i].budget,
					      .subject = rows[i].subject,
					      .amount = rows[i].amount,
					      .now = now};
		struct budget_get_in get = {rows[i].budget};
		struct budget_row b;

		if (sql_get(l->sup->db, Q_BUDGET_GET, &get, &b, &a, e) != 1) {
			n = -1;
			break;
		}
		budget_period(b.period, now, &in.period_start, &end);
		if (sql_exec(l->sup->db, Q_BUDGET_CHARGE, &in, e) < 0)
			n = -1;
	}
	arena_fini(&a);
	if (n > 0 && sql_exec(l->sup->db, Q_BUDGET_HOLD_DROP, &drop, e) < 0)
		n = -1;
	return n < 0 ? -1 : 0;
}

/* Charges the time until now, and sets from when on it counts. */
static int charge_time(struct active_run *l, const struct budget_run *run,
		       int64_t from, struct err *e)
{
	struct budget_run_get_in key = {l->id};
	struct budget_run_row row;
	struct budget_amount time = {0};
	int64_t now = clock_now();
	struct arena a = {0};
	int found = sql_get(l->sup->db, Q_BUDGET_RUN_GET, &key, &row, &a, e);

	arena_fini(&a);
	if (found != 1)
		return found;
	if (row.charged_at != OPT_NONE && now > row.charged_at)
		time.ms = now - row.charged_at;
	return (time.ms && budget_charge(l->sup->db, run, &time, now, e)) ||
			       put_state(l, row.tokens, row.cost_micros, from,
					 e)
		       ? -1
		       : 0;
}

int budget_on_transition(struct active_run *l, enum run_state from,
			 enum run_state to, struct err *e)
{
	struct budget_run_delete_in done = {l->id};
	bool ends = run_state_is_over(to) || to == RUN_QUEUED;
	struct budget_run run;
	struct arena a = {0};
	int rc = 0;

	if (!l->sup->runs->has_budgets || from == to)
		return 0;
	if (from != RUN_RUNNING && to != RUN_RUNNING && !ends)
		return 0;
	rc = identify_active(l, &run, &a, e);
	if (rc == 0 && (from == RUN_RUNNING || to == RUN_RUNNING))
		rc = charge_time(l, &run,
				 to == RUN_RUNNING ? clock_now() : OPT_NONE, e);
	if (rc == 0 && ends)
		rc = charge_reservation(l, e);
	if (rc == 0 && run_state_is_over(to))
		rc = sql_exec(l->sup->db, Q_BUDGET_RUN_DELETE, &done, e) < 0
			     ? -1
			     : 0;
	arena_fini(&a);
	return rc;
}

/* --- reservations ----------------------------------------------------- */

static void answer_reserve(const struct worker_request *q, const char *decision,
			   const struct budget_decision *d)
{
	struct buf b = BUF_MAX(2048);

	json_begin_object(&b);
	json_put_text(&b, "decision", decision);
	json_put_text(&b, "key", d->key[0] ? d->key : NULL);
	json_put_text(&b, "detail", d->detail[0] ? d->detail : NULL);
	json_end_object(&b);
	worker_request_answer(q, b.p);
	buf_fini(&b);
}

struct reserve_answer {
	struct worker_request request;
	struct budget_decision decision;
};

static void send_reserve_answer(void *arg, const struct err *failed)
{
	static const char *const words[] = {[BUDGET_FREE] = "free",
					    [BUDGET_ASK] = "ask",
					    [BUDGET_END] = "end"};
	const struct reserve_answer *w = arg;

	if (failed)
		worker_request_fail(&w->request, failed);
	else
		answer_reserve(&w->request, words[w->decision.verdict],
			       &w->decision);
}

/* Decides, in the transaction: 1 if it is answered after the commit, 0 if the run
 * is paused and the request has to wait. */
static int try_reserve(struct active_run *l, const struct worker_request *q,
		       const struct budget_amount *estimate, struct err *e)
{
	struct txn *txn = &l->sup->txn;
	struct reserve_answer *answer = txn_alloc(txn, sizeof *answer);
	struct budget_decision *d = &answer->decision;
	struct budget_run run;
	struct arena a = {0};
	int rc = identify_active(l, &run, &a, e);

	*answer = (struct reserve_answer){.request = *q};
	if (rc == 0)
		rc = budget_check(l->sup->db, &run, false, clock_now(), d, e);
	if (rc == 0 && d->verdict == BUDGET_FREE)
		rc = budget_reserve(l->sup->db, &run, estimate, e);
	if (rc == 0 && d->verdict == BUDGET_PAUSE)
		rc = pause_run(l, d->detail, e);
	arena_fini(&a);
	if (rc)
		return -1;
	if (d->verdict == BUDGET_PAUSE)
		return 0;
	txn_on_commit(txn, send_reserve_answer, answer);
	return 1;
}

static void forget_wait(struct supervisor *s, const char *run)
{
	struct budget_wait **at = &s->runs->budget_waits;

	while (*at) {
		struct budget_wait *w = *at;

		if (strcmp(w->request.run, run) != 0) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

static void wait_for_budget(const struct worker_request *q,
			    const struct budget_amount *estimate)
{
	struct budget_wait *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	*w = (struct budget_wait){.next = q->sup->runs->budget_waits,
				  .request = *q,
				  .estimate = *estimate};
	q->sup->runs->budget_waits = w;
}

static int64_t amount_of(const cJSON *v, const char *name)
{
	int64_t n = json_i64(v, name, 0);

	return n > 0 ? n : 0;
}

static int charge_spent(struct active_run *l, const cJSON *spent, struct err *e)
{
	struct budget_run run;
	struct arena a = {0};
	int rc = identify_active(l, &run, &a, e);

	if (rc == 0)
		rc = charge_totals(l, &run, amount_of(spent, "tokens"),
				   amount_of(spent, "cost_micros"), e);
	arena_fini(&a);
	return rc;
}

int budget_on_reserve(struct active_run *l, const struct worker_request *q,
		      const cJSON *args, struct err *e)
{
	struct budget_amount estimate = {
		.tokens = amount_of(args, "tokens"),
		.micros = amount_of(args, "cost_micros"),
	};
	int rc;

	l->reserves_calls = json_bool(args, "each", false);
	forget_wait(l->sup, l->id); /* that the worker sent before */
	if (txn_begin(&l->sup->txn, e) ||
	    charge_spent(l, json_member(args, "spent"), e))
		return -1;
	rc = try_reserve(l, q, &estimate, e);
	if (rc == 0)
		wait_for_budget(q, &estimate);
	return rc < 0 ? -1 : 0;
}

/* --- approvals -------------------------------------------------------- */

bool budget_is_key(const char *key)
{
	return strncmp(key, KEY_PREFIX, sizeof KEY_PREFIX - 1) == 0;
}

int budget_on_answer(struct supervisor *s, const struct approval_row *row,
		     bool allow, struct err *e)
{
	struct budget_run run;
	struct run_row of;
	struct arena a = {0};
	int rc;

	if (!allow)
		return 0;
	rc = run_find(s, row->run, &of, &a, e);
	if (rc == 0)
		rc = identify(s, of.id, of.agent, of.session, &run, &a, e);
	if (rc == 0)
		rc = budget_allow(s->db, &run, row->key, clock_now(), e);
	arena_fini(&a);
	return rc;
}

/* --- the clock -------------------------------------------------------- */

#define CHARGE_TICKS 20 /* five seconds, between two charges of time */

/* Resumes a run that was paused by a budget which is available again. */
static int check_paused(struct active_run *l, struct err *e)
{
	struct budget_decision d;
	struct budget_run run;
	struct arena a = {0};
	int rc = identify_active(l, &run, &a, e);

	if (rc == 0)
		rc = budget_check(l->sup->db, &run, false, clock_now(), &d, e);
	arena_fini(&a);
	if (rc || d.verdict == BUDGET_PAUSE)
		return rc;
	if (d.verdict == BUDGET_END)
		return run_cancel_tree(l->sup, l->id, "budget", d.detail,
				       "skepd", e) < 0
			       ? -1
			       : 0;
	return resume_run(l, e);
}

static int charge_running(struct active_run *l, struct err *e)
{
	struct budget_run run;
	struct arena a = {0};
	int rc = identify_active(l, &run, &a, e);

	if (rc == 0)
		rc = charge_time(l, &run, clock_now(), e);
	if (rc == 0)
		rc = enforce(l, &run, e);
	arena_fini(&a);
	return rc;
}

static void check_run(struct active_run *l, void *arg)
{
	const bool *charge = arg;
	struct supervisor *s = l->sup;
	struct err e;
	int rc = 0;

	txn_try_begin(&s->txn);
	if (l->state == RUN_PAUSED && strcmp(l->reason, "budget") == 0)
		rc = txn_begin(&s->txn, &e) ? -1 : check_paused(l, &e);
	else if (l->state == RUN_RUNNING && *charge)
		rc = txn_begin(&s->txn, &e) ? -1 : charge_running(l, &e);
	if (txn_try_end(&s->txn, rc, &e))
		log_error(LT("msg", "cannot check the budget of a run"),
			  LT("run", l->id), LT("error", e.text));
}

/* Requests of runs that were resumed. */
static void check_waits(struct supervisor *s)
{
	struct budget_wait **at = &s->runs->budget_waits;

	while (*at) {
		struct budget_wait *w = *at;
		struct active_run *l = active_run_find(&s->runs->active,
						       w->request.run);
		struct err e;
		int rc = 1;

		if (l && l->state == RUN_PAUSED) {
			at = &w->next;
			continue;
		}
		if (l && l->state == RUN_RUNNING) {
			txn_try_begin(&s->txn);
			rc = txn_begin(&s->txn, &e)
				     ? -1
				     : try_reserve(l, &w->request, &w->estimate,
						   &e);
			if (txn_try_end(&s->txn, rc < 0 ? -1 : 0, &e))
				worker_request_fail(&w->request, &e);
		}
		if (rc == 0) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

static bool limits_time(struct supervisor *s)
{
	struct budget_has_time_row row = {0};
	struct err e;

	return sql_get(s->db, Q_BUDGET_HAS_TIME, NULL, &row, NULL, &e) == 1 &&
	       row.n > 0;
}

void budgets_tick(struct supervisor *s)
{
	bool charge = s->runs->has_budgets && s->ticks % CHARGE_TICKS == 0 &&
		      limits_time(s);

	if (s->runs->has_budgets || s->runs->budget_waits)
		active_run_each(&s->runs->active, check_run, &charge);
	check_waits(s);
}

void budgets_free(struct supervisor *s)
{
	while (s->runs->budget_waits) {
		struct budget_wait *next = s->runs->budget_waits->next;

		free(s->runs->budget_waits);
		s->runs->budget_waits = next;
	}
}
