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
	    run_cancel_tree(s, made.interrupt, run_reason_interrupted, NULL,
			    req->by, e) < 0)
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

int run_find(struct supervisor *s, const char *id, struct run_row *row,
	     struct arena *a, struct err *e)
{
	struct run_get_in key = {id};
	int found = sql_get(s->db, Q_RUN_GET, &key, row, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(id).text);
	return found < 0 ? -1 : 0;
}

/* A namespace that the run created under a given name exists now, unless it was
 * ephemeral. Other new ones are created again. */
static void retry_workspace(struct run_request *req, const struct run_row *row)
{
	bool named = row->workspace && strcmp(row->workspace, row->id) != 0;
	bool exists = named && !row->is_ephemeral && row->works_in;

	req->workspace = named ? row->workspace : NULL;
	req->share = row->is_shared;
	if (exists)
		return;
	req->fork_of = row->fork_of;
	req->over = row->over_dir;
	req->fresh = row->is_fresh;
	req->ephemeral = row->is_ephemeral;
}

static int retry_row(struct supervisor *s, const struct run_row *row,
		     const char *by, struct arena *a, struct completion done,
		     struct err *e)
{
	struct run_input_get_in key = {row->id};
	struct run_input_get_row input;
	struct run_request req = supervisor_run_defaults(s);

	if (!run_row_is_over(row))
		return err_set(e, ERR_CONFLICT,
			       "run %s is %s; only a run that has ended can be "
			       "retried",
			       row->id, row->state);
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
	retry_workspace(&req, row);
	req.command = row->command;
	req.retry_of = row->id;
	req.by = by;
	return supervisor_submit_run(s, &req, done, e);
}

static int retry_run(struct supervisor *s, const char *run, const char *by,
		     struct completion done, struct err *e)
{
	struct arena a = {0};
	struct run_row row;
	int rc = run_find(s, run, &row, &a, e);

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

int command_add(struct supervisor *s, const char *run, const char *verb,
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

void command_text(struct buf *b, const char *key, const char *text)
{
	json_begin_object(b);
	json_put_text(b, key, text);
	json_end_object(b);
}

/* The active run, if it can still receive commands; NULL with the error. */
static struct active_run *reachable(struct supervisor *s, const char *run,
				    struct err *e)
{
	struct active_run *l = active_run_find(&s->runs->active, run);
	struct arena a = {0};
	struct run_row row;

	if (!l) {
		if (run_find(s, run, &row, &a, e) == 0)
			err_set(e, ERR_CONFLICT,
				run_row_is_over(&row)
					? "run %s has already ended (%s)"
					: "run %s is not active yet (%s)",
				run, row.state);
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
		return err_set(e, ERR_CONFLICT,
			       "cannot %s run %s while it is %s",
			       pause ? "pause" : "resume", run,
			       run_state_name(l->state));
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_COMMAND_DROP, &drop, e) < 0 ||
	    command_add(s, run, pause ? "pause" : "resume", "{}", by, e) ||
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
	command_text(&body, "text", text);
	if (txn_begin(&s->txn, e) == 0)
		rc = command_add(s, run, "message", body.p, by, e);
	buf_fini(&body);
	if (rc)
		return -1;
	effect_defer(l, RUN_EFFECT_COMMAND);
	complete_later(s, done, run, true, "message queued");
	return 0;
}

int supervisor_send_to_run(struct supervisor *s, const char *run,
			   const char *text, const char *by,
			   struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, send_to_run(s, run, text, by, done, e), e);
}
