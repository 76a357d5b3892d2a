#include "supervisor/run/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"

#include <string.h>

#define RETRY_MS 1000 /* after a failure of the database */

/* How many runs of the agent may be active at once: limits.runs of the agent,
 * or run.per_agent. */
static int64_t agent_limit(struct supervisor *s, const char *agent,
			   struct arena *a)
{
	struct agent_get_in key = {agent};
	struct agent_row row;
	struct err e;
	cJSON *spec;
	int64_t limit = s->config.run_per_agent;

	if (sql_get(s->db, Q_AGENT_GET, &key, &row, a, &e) != 1)
		return limit;
	spec = json_parse_object("spec", row.spec, strlen(row.spec), &e);
	limit = json_i64(cJSON_GetObjectItem(spec, "limits"), "runs", limit);
	cJSON_Delete(spec);
	return limit;
}

static int schedule(struct supervisor *s, struct arena *a, struct err *e)
{
	struct run_next_row next;
	int64_t limit;
	int found;

	run_pick_begin(&s->runs->pick);
	while (s->runs->active.count < s->config.run_max) {
		found = run_pick_next(s->db, &s->runs->pick, &next, a, e);
		if (found != 1)
			return found;
		limit = agent_limit(s, next.agent, a);
		if (active_run_count_agent(&s->runs->active, next.agent) >=
		    limit)
			continue;
		found = start_queued_run(s, next.id, limit, e);
		if (found < 0)
			return -1;
		/* a run that waits for its workspace is out of the way */
		s->runs->pick.took = s->runs->pick.took || found != START_WAITS;
	}
	return 0;
}

/* --- what the clock changes ------------------------------------------- */

static int expire_run(struct supervisor *s, const char *id, struct arena *a,
		      struct err *e)
{
	struct transition_reason why = {.reason = run_reason_queue_timeout};
	struct run_row row;

	if (txn_begin(&s->txn, e) ||
	    sql_get(s->db, Q_RUN_GET, &(struct run_get_in){id}, &row, a, e) < 0)
		return -1;
	return transition_apply_queued(s, &row, RUN_EV_EXPIRE, &why, e);
}

/* Expires each one that can be. */
static int expire_runs(struct supervisor *s, int64_t now, struct arena *a,
		       struct err *e)
{
	struct run_expired_in in = {now};
	struct run_expired_row *ids;
	int n = sql_collect(s->db, Q_RUN_EXPIRED, &in, 100, &ids, a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n; i++) {
		txn_try_begin(&s->txn);
		if (txn_try_end(&s->txn, expire_run(s, ids[i].id, a, e), e))
			rc = -1;
	}
	return rc;
}

static void on_alarm(uv_timer_t *h)
{
	struct supervisor *s = h->data;
	int64_t now = clock_now();
	bool failed = false;
	struct arena a = {0};
	struct err e;

	if (txn_begin(&s->txn, &e) || run_wake(s->db, now, &a, &e) < 0 ||
	    expire_runs(s, now, &a, &e)) {
		failed = true;
		log_error(
			LT("msg",
			   "cannot process due and expired runs of the queue"),
			LT("error", e.text));
	}
	failed |= approvals_expire(s) != 0;
	s->runs->schedule = s->runs->alarm_stale = true;
	if (failed) /* it stays due */
		s->runs->alarm_after_ms = uv_now(&s->loop) + RETRY_MS;
	arena_fini(&a);
}

void schedule_runs(struct supervisor *s)
{
	struct arena a = {0};
	struct err e;

	int rc = 0;

	/* a start may let a run with a higher priority follow */
	while (rc == 0 && s->runs->schedule && !s->stopping) {
		s->runs->schedule = false;
		rc = schedule(s, &a, &e);
	}
	if (rc < 0) {
		log_error(LT("msg", "cannot start queued runs"),
			  LT("error", e.text));
		s->runs->alarm_stale = false;
		uv_timer_start(&s->runs->alarm, on_alarm, RETRY_MS, 0);
	}
	arena_fini(&a);
}

void queue_set_alarm(struct supervisor *s)
{
	struct run_next_alarm_row row = {OPT_NONE};
	int64_t wait, least;
	struct err e;

	if (!s->runs->alarm_stale)
		return;
	s->runs->alarm_stale = false;
	if (sql_get(s->db, Q_RUN_NEXT_ALARM, NULL, &row, NULL, &e) < 0)
		log_error(
			LT("msg", "cannot read the next due time of the queue"),
			LT("error", e.text));
	if (row.at == OPT_NONE) {
		uv_timer_stop(&s->runs->alarm);
		return;
	}
	wait = row.at - clock_now();
	least = (int64_t)(s->runs->alarm_after_ms - uv_now(&s->loop));
	if (wait < least)
		wait = least;
	uv_timer_start(&s->runs->alarm, on_alarm, wait > 0 ? (uint64_t)wait : 0,
		       0);
}
