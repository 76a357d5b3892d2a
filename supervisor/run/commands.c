#include "supervisor/run/attachments.h"
#include "supervisor/run/internal.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/agent.h"

#include <stdio.h>
#include <string.h>

#define DESCENDANTS_MAX 100000

/* --- submit ----------------------------------------------------------- */

static int64_t or_none(int64_t ms)
{
	return ms > 0 ? ms : OPT_NONE;
}

struct run_request supervisor_run_defaults(const struct supervisor *s)
{
	const struct config *c = &s->config;

	return (struct run_request){
		.by = "skepd",
		.queue_timeout_ms = or_none(c->run_queue_timeout),
		.run_timeout_ms = or_none(c->run_timeout),
		.idle_timeout_ms = or_none(c->run_idle_timeout),
		.grace_ms = c->run_grace,
		.max_attempts = c->run_attempts,
		.backoff_ms = c->run_backoff,
		.max_depth = c->run_depth_max,
		.session_queue_max = c->run_session_queue_max,
	};
}

static int cancel_run(struct supervisor *s, const char *id, const char *reason,
		      const char *detail, const char *by, struct err *e);

static int submit_run(struct supervisor *s, const struct run_request *req,
		      struct completion done, struct err *e)
{
	struct run_request full = *req;
	struct agent_row agent;
	struct run_made made;
	struct arena a = {0};
	int found;

	if (s->stopping)
		return err_set(e, ERR_UNAVAILABLE, "skepd is shutting down");
	if (text_check_name("agent", req->agent, e) || txn_begin(&s->txn, e))
		return -1;
	found = supervisor_agent_read(s, req->agent, &agent, &a, e);
	if (found == 0)
		found = agents_missing(s->db, req->agent, e);
	else if (found == 1 && !agent.is_enabled)
		found = err_set(e, ERR_CONFLICT, "agent %s is disabled",
				req->agent);
	if (found < 0 || run_attach_store(s, req, &full.options, &a, e) ||
	    run_enqueue(s->db, &full, clock_now(), &made, e) ||
	    (made.is_new && run_attach_use(s, made.id.text, full.options, e)))
		found = -1;
	arena_fini(&a);
	if (found < 0)
		return -1;
	if (made.interrupt[0] &&
	    cancel_run(s, made.interrupt, run_reason_interrupted, NULL, req->by,
		       e) < 0)
		return -1;
	s->runs->schedule = s->runs->alarm_stale = s->host_changed = true;
	complete_later(s, done, made.id.text, made.is_new,
		       made.is_new ? "accepted" : "known");
	return 0;
}

int supervisor_submit_run(struct supervisor *s, const struct run_request *req,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, submit_run(s, req, done, e), e);
}

static int find_run(struct supervisor *s, const char *id, struct run_row *row,
		    struct arena *a, struct err *e)
{
	struct run_get_in key = {id};
	int found = sql_get(s->db, Q_RUN_GET, &key, row, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(id).text);
	return found < 0 ? -1 : 0;
}

static int retry_row(struct supervisor *s, const struct run_row *row,
		     const char *by, struct arena *a, struct completion done,
		     struct err *e)
{
	struct run_input_get_in key = {row->id};
	struct run_input_get_row input;
	struct run_request req = supervisor_run_defaults(s);

	if (!run_state_is_over((enum run_state)run_state_from(row->state)))
		return err_set(e, ERR_CONFLICT,
			       "run %s is %s and has not ended", row->id,
			       row->state);
	if (sql_get(s->db, Q_RUN_INPUT_GET, &key, &input, a, e) != 1)
		return err_set(e, ERR_NOTFOUND, "the input of %s was deleted",
			       row->id);
#define AGAIN_RUN(name)   req.name = row->name;
#define AGAIN_INPUT(name) req.name = input.name;
#define AGAIN_NONE(name)
#define RUN_MEMBER(field, name, type, need, column, again, option) \
	AGAIN_##again(name)
#include "schema/control/run_request.def"
#undef RUN_MEMBER
	req.retry_of = row->id;
	req.by = by;
	return supervisor_submit_run(s, &req, done, e);
}

static int retry_run(struct supervisor *s, const char *run, const char *by,
		     struct completion done, struct err *e)
{
	struct arena a = {0};
	struct run_row row;
	int rc = find_run(s, run, &row, &a, e);

	if (rc == 0)
		rc = retry_row(s, &row, by, &a, done, e);
	arena_fini(&a);
	return rc;
}

int supervisor_retry_run(struct supervisor *s, const char *run, const char *by,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, retry_run(s, run, by, done, e), e);
}

/* --- commands --------------------------------------------------------- */

static int add_command(struct supervisor *s, const char *run, const char *verb,
		       const char *body, const char *by, struct err *e)
{
	struct command_add_in in = {
		.run = run,
		.verb = verb,
		.body = body,
		.by = by,
		.now = clock_now(),
	};

	return sql_exec(s->db, Q_COMMAND_ADD, &in, e) < 0 ? -1 : 0;
}

static void text_body(struct buf *b, const char *key, const char *text)
{
	json_begin_object(b);
	json_put_text(b, key, text);
	json_end_object(b);
}

/* Requests the end of a run in any state that has a process. */
static int request_end(struct active_run *l,
		       const struct transition_reason *why, const char *verb,
		       const char *by, struct err *e)
{
	enum run_event event = why->pending_state == RUN_PENDING_QUEUED
				       ? RUN_EV_STOP
				       : RUN_EV_CANCEL;
	bool already_requested = l->state == RUN_STOPPING ||
				 l->state == RUN_ENDING;
	struct buf body = BUF_MAX(1024);
	int rc = 0;

	text_body(&body, "reason", why->detail ? why->detail : why->reason);
	if (!already_requested)
		rc = add_command(l->sup, l->id, verb, body.p, by, e);
	if (rc == 0)
		rc = transition_apply(l, event, why, e);
	buf_fini(&body);
	return rc;
}

/* Returns 1, or 0 if the run is already being ended. */
static int cancel_active(struct active_run *l, const char *reason,
			 const char *detail, const char *by, struct err *e)
{
	struct transition_reason why = {.reason = reason, .detail = detail};

	why.pending_state = run_pending_request(l->pending_state,
						RUN_PENDING_CANCELLED);
	if (why.pending_state == l->pending_state)
		return 0;
	return request_end(l, &why, "cancel", by, e) ? -1 : 1;
}

static int cancel_one(struct supervisor *s, const char *id, const char *reason,
		      const char *detail, const char *by, struct err *e)
{
	struct active_run *l = active_run_find(&s->runs->active, id);
	struct transition_reason why = {.reason = reason, .detail = detail};
	struct arena a = {0};
	struct run_row row;
	int rc = find_run(s, id, &row, &a, e);

	if (rc == 0 && l)
		rc = cancel_active(l, reason, detail, by, e);
	else if (rc == 0 && !strcmp(row.state, "queued"))
		rc = transition_apply_queued(s, &row, RUN_EV_CANCEL, &why, e)
			     ? -1
			     : 1;
	arena_fini(&a);
	return rc;
}

/* Cancels the run and its child runs. Returns 1, 0 if the run has ended or is
 * being ended, or -1. */
static int cancel_run(struct supervisor *s, const char *id, const char *reason,
		      const char *detail, const char *by, struct err *e)
{
	struct run_descendants_in key = {id};
	struct run_descendants_row *rows;
	struct arena a = {0};
	int changed = cancel_one(s, id, reason, detail, by, e), n = 0;

	if (changed >= 0)
		n = sql_collect(s->db, Q_RUN_DESCENDANTS, &key, DESCENDANTS_MAX,
				&rows, &a, e);
	for (int i = 0; i >= 0 && i < n; i++)
		if (cancel_one(s, rows[i].id, run_reason_parent_cancelled, id,
			       by, e) < 0)
			n = -1;
	arena_fini(&a);
	return changed < 0 || n < 0 ? -1 : changed;
}

/* The run has ended, but its idle worker can be ended. */
static const char *cancel_idle(struct supervisor *s, const char *run)
{
	struct idle_worker *w = idle_find(s, run);

	if (!w)
		return "it has ended or is being stopped";
	idle_evict(w);
	return "it was over; the agent that it kept is being ended";
}

static int cancel_by_request(struct supervisor *s, const char *run,
			     const char *why, const char *by,
			     struct completion done, struct err *e)
{
	int changed;

	if (why && text_check_key("reason", why, 200, e))
		return -1;
	if (txn_begin(&s->txn, e))
		return -1;
	changed = cancel_run(s, run, "cancelled", why, by, e);
	if (changed < 0)
		return -1;
	complete_later(s, done, run, changed == 1,
		       changed ? "it is being cancelled" : cancel_idle(s, run));
	return 0;
}

int supervisor_cancel_run(struct supervisor *s, const char *run,
			  const char *why, const char *by,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, cancel_by_request(s, run, why, by, done, e),
			   e);
}

void active_run_stop(struct active_run *l, const char *by)
{
	struct transition_reason why = {.reason = "stopped",
					.pending_state = RUN_PENDING_QUEUED};
	struct err e;

	if (l->pending_state != RUN_PENDING_NONE)
		return;
	txn_try_begin(&l->sup->txn);
	if (txn_try_end(&l->sup->txn, request_end(l, &why, "stop", by, &e), &e))
		log_error(LT("msg", "cannot stop a run"), LT("run", l->id),
			  LT("error", e.text));
}

/* The active run, if it can still receive commands; NULL with the error. */
static struct active_run *reachable(struct supervisor *s, const char *run,
				    struct err *e)
{
	struct active_run *l = active_run_find(&s->runs->active, run);
	struct arena a = {0};
	struct run_row row;

	if (!l) {
		if (find_run(s, run, &row, &a, e) == 0)
			err_set(e, ERR_CONFLICT, "run %s is %s", run,
				row.state);
	} else if (l->state == RUN_STOPPING || l->state == RUN_ENDING) {
		err_set(e, ERR_CONFLICT, "run %s is being stopped", run);
		l = NULL;
	}
	arena_fini(&a);
	return l;
}

static int pause_or_resume(struct supervisor *s, const char *run, bool pause,
			   const char *by, struct completion done,
			   struct err *e)
{
	struct transition_reason why = {.reason = pause ? run_reason_paused
							: run_reason_resumed};
	struct active_run *l = reachable(s, run, e);
	struct command_drop_in drop = {run, pause ? "resume" : "pause",
				       clock_now()};
	enum run_state wanted = pause ? RUN_PAUSED : RUN_RUNNING;

	if (!l)
		return -1;
	if (l->state == wanted) {
		complete_later(s, done, run, false, run_state_name(wanted));
		return 0;
	}
	if (!run_fsm(l->state, pause ? RUN_EV_PAUSE : RUN_EV_RESUME).allowed)
		return err_set(e, ERR_CONFLICT, "run %s is %s", run,
			       run_state_name(l->state));
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_COMMAND_DROP, &drop, e) < 0 ||
	    add_command(s, run, pause ? "pause" : "resume", "{}", by, e) ||
	    transition_apply(l, pause ? RUN_EV_PAUSE : RUN_EV_RESUME, &why, e))
		return -1;
	complete_later(s, done, run, true, run_state_name(wanted));
	return 0;
}

int supervisor_pause_run(struct supervisor *s, const char *run, const char *by,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, pause_or_resume(s, run, true, by, done, e),
			   e);
}

int supervisor_resume_run(struct supervisor *s, const char *run, const char *by,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, pause_or_resume(s, run, false, by, done, e),
			   e);
}

static int send_to_run(struct supervisor *s, const char *run, const char *text,
		       const char *by, struct completion done, struct err *e)
{
	struct active_run *l = reachable(s, run, e);
	struct buf body = BUF_MAX(RUN_SEND_MAX * 6 + 64);
	int rc = -1;

	if (!l)
		return -1;
	if (!text[0] || strlen(text) > RUN_SEND_MAX ||
	    !text_is_utf8(text, strlen(text)))
		return err_set(e, ERR_INVALID,
			       "a message has 1 to %d bytes of "
			       "UTF-8",
			       RUN_SEND_MAX);
	text_body(&body, "text", text);
	if (txn_begin(&s->txn, e) == 0)
		rc = add_command(s, run, "message", body.p, by, e);
	buf_fini(&body);
	if (rc)
		return -1;
	effect_defer(l, RUN_EFFECT_COMMAND);
	complete_later(s, done, run, true, "on its way");
	return 0;
}

int supervisor_send_to_run(struct supervisor *s, const char *run,
			   const char *text, const char *by,
			   struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, send_to_run(s, run, text, by, done, e), e);
}
