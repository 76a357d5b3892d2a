/*
 * chat: an agent of our own. It reads the conversation from the transcript,
 * asks the model, commits the answer, runs its tools, and repeats this until
 * the model calls no tool. Every step starts from committed data, so an attempt
 * after a crash continues where the previous one stopped: an incomplete answer
 * is requested again, and a tool without a result is run again if that is
 * harmless (worker/driver/chat/tools.def); otherwise the model gets an error.
 */
#include "lib/base/backoff.h"
#include "worker/driver/chat/chat.h"

#include "lib/base/id.h"
#include "lib/base/text.h"
#include "worker/driver/chat/media.h"
#include "worker/run/diagnose.h"
#include "worker/run/turn.h"
#include "worker/workspace/workspace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_MAX (64u << 20)
#define BACKOFF_MAX 60000

int chat_end(struct chat *x, enum reason reason, const char *fmt, ...)
{
	va_list ap;

	x->over = true;
	va_start(ap, fmt);
	run_end_set(x->end, reason, fmt, ap);
	va_end(ap);
	return 0;
}

/* --- the answer ---------------------------------------------------------- */

/* The delay that the server requests, or doubled each time; with jitter. */
static int64_t back_off(const struct chat *x, const struct chat_result *r,
			int64_t nth)
{
	uint32_t random;

	id_random(&random, sizeof random);
	if (r->wait_ms > 0)
		return r->wait_ms + (int64_t)(random % 250);
	return backoff_spread(
		backoff_next(nth + 1, x->config.limits.backoff_ms, BACKOFF_MAX),
		random);
}

static int repeat_request(struct chat *x, const struct chat_result *r,
			  int64_t nth, int64_t ms, struct err *e)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);

	json_begin_object(&b);
	json_put_int(&b, "retry", nth + 1);
	json_put_int(&b, "wait_ms", ms);
	json_put_text(&b, "why", r->why);
	json_end_object(&b);
	return transcript_add_body(&x->run->transcript, "status", &b, e);
}

static int try_once(struct chat *x, const struct buf *body,
		    struct chat_result *r, struct err *e)
{
	struct chat_exchange exchange = {.run = x->run,
					 .body = body,
					 .turn = &x->turn,
					 .flush = chat_answer_flush,
					 .arg = x};
	struct err why;
	int rc;

	chat_answer_begin(x);
	rc = chat_http_exchange(x->http, &exchange, r, e);
	if (rc == 0 && r->outcome == CHAT_ANSWERED &&
	    chat_turn_end(&x->turn, x->turns + 1, &why)) {
		r->outcome = CHAT_RETRY;
		text_fit(r->why, sizeof r->why, why.text);
	}
	if (rc)
		(void)chat_answer_drop(x, "the request was aborted", &why);
	else if (r->outcome != CHAT_ANSWERED)
		rc = chat_answer_drop(x, r->why, e);
	return rc;
}

/* 1: a budget ended the run. */
static int request_with_retries(struct chat *x, const struct buf *body,
				struct chat_result *r, struct err *e)
{
	int64_t max = x->config.limits.retries, ms;

	for (int64_t i = 0;; i++) {
		int rc = chat_reserve(x, body->n, e);

		if (rc || try_once(x, body, r, e))
			return rc > 0 ? 1 : -1;
		/* another model may answer sooner than one that hangs */
		if (r->outcome != CHAT_RETRY || i == max ||
		    (r->hung && x->config.nfallbacks > 0))
			return 0;
		ms = back_off(x, r, i);
		if (repeat_request(x, r, i, ms, e) || run_wait(x->run, ms, e))
			return -1;
	}
}

/* --- tools --------------------------------------------------------------- */

/* A failure becomes the result of the call, except the end of the run. */
static int use_tool(struct chat *x, const struct chat_use *use,
		    struct buf *text, bool *failed, struct err *e)
{
	struct err why;

	*failed = false;
	if (chat_tool_run(x, use, text, failed, &why) == 0)
		return 0;
	*failed = true;
	if (run_ending(x->run) || why.code == ERR_CANCELED ||
	    why.code == ERR_STALE) {
		*e = why;
		return -1;
	}
	buf_clear(text);
	text->over = false;
	buf_adds(text, why.text);
	return 0;
}

static int call(struct chat *x, int i, struct err *e)
{
	const struct chat_call *c = &x->turn.calls[i];
	struct chat_use use = {
		.id = c->id,
		.name = c->name,
		.part = &x->calls[i],
		.seq = x->pos & UINT32_MAX,
	};
	struct buf text = BUF_MAX(CHAT_RESULT_MAX);
	struct err why;
	cJSON *args = chat_call_args(c, &why);
	bool failed = !args;
	int rc = 0;

	use.args = args;
	if (args)
		rc = use_tool(x, &use, &text, &failed, e);
	else
		buf_adds(&text, why.text);
	if (rc == 0)
		rc = chat_answer_result(x, i, &text, failed, e);
	cJSON_Delete(args);
	buf_fini(&text);
	return rc;
}

/* The calls from this one on had not begun when the run was ended. */
static void skip_rest(struct chat *x, int i)
{
	struct buf text = BUF_MAX(256);
	struct err ignored; /* they are closed with the run */

	buf_adds(&text, "The tool was not run: the run was ended before.");
	for (; i < x->turn.ncalls; i++)
		if (x->turn.calls[i].name[0])
			(void)chat_answer_result(x, i, &text, true, &ignored);
	buf_fini(&text);
}

static int call_all(struct chat *x, struct err *e)
{
	for (int i = 0; i < x->turn.ncalls; i++) {
		int rc = run_wait(x->run, 0, e);

		if (rc == 0 && x->turn.calls[i].name[0])
			rc = call(x, i, e) ? 1 : 0;
		if (rc == 0)
			continue;
		if (run_ending(x->run))
			skip_rest(x, rc > 0 ? i + 1 : i);
		return -1;
	}
	return 0;
}

/* A call of a dead attempt: its result becomes an event. */
static int retry_call(struct chat *x, const struct chat_past_call *c,
		      int64_t seq, struct err *e)
{
	struct buf text = BUF_MAX(CHAT_RESULT_MAX);
	struct buf body = BUF_MAX(EVENT_BODY_MAX);
	struct chat_use use = {.id = c->id, .name = c->name, .seq = seq};
	struct err why;
	cJSON *args = json_parse_object("input", c->input, strlen(c->input),
					&why);
	bool failed = true;
	int rc = 0;

	use.args = args;
	if (args && (c->not_run || chat_tool_is_repeatable(c->name)))
		rc = use_tool(x, &use, &text, &failed, e);
	else
		buf_adds(&text, "The tool was interrupted, and it is unknown "
				"whether it completed. Check before you "
				"continue.");
	json_begin_object(&body);
	json_put_text(&body, "call_id", c->id);
	json_put_bool(&body, "failed", failed);
	json_key(&body, "text");
	json_add_string(&body, text.p, text.n);
	json_end_object(&body);
	if (rc == 0)
		rc = transcript_add_body(&x->run->transcript, "tool_result",
					 &body, e);
	cJSON_Delete(args);
	buf_fini(&text);
	buf_fini(&body);
	return rc;
}

static int repeat_open_calls(struct chat *x, const struct chat_item *it,
			     struct err *e)
{
	for (int i = 0; i < it->ncalls; i++)
		if (!it->calls[i].output &&
		    retry_call(x, &it->calls[i], it->seq, e))
			return -1;
	return 0;
}

/* --- a turn -------------------------------------------------------------- */

static int check_answer(struct chat *x, struct err *e)
{
	const char *finish = x->turn.finish;

	x->turns++;
	x->compactions = 0;
	chat_learn_tokens(x, x->turn.usage.input);
	if (strcmp(finish, "tool_calls") == 0)
		return call_all(x, e);
	if (strcmp(finish, "length") == 0)
		return chat_end(x, REASON_max_tokens,
				"the model's answer was cut off at its limit");
	if (strcmp(finish, "refusal") == 0)
		return chat_end(x, REASON_refusal, "the model refused%s%s",
				x->turn.text.n ? ": " : "",
				quoted(x->turn.text.p).text);
	return 0; /* the next read of the history ends the run */
}

static int over_limit(struct chat *x)
{
	const struct chat_limits *l = &x->config.limits;

	if (x->turns >= l->max_turns)
		return chat_end(x, REASON_max_turns,
				"%" PRId64 " requests, and still no end",
				x->turns);
	if (l->max_tokens > 0 && x->tokens >= l->max_tokens)
		return chat_end(x, REASON_max_tokens,
				"%" PRId64 " tokens were used", x->tokens);
	if (x->config.max_cost > 0 && x->cost >= x->config.max_cost)
		return chat_end(x, REASON_max_cost, "$%.4f were spent",
				x->cost);
	return 0;
}

/* Detected before the server reports it. */
static bool is_too_long(const struct chat *x, const struct chat_history *h,
			struct chat_result *r)
{
	int64_t tokens;

	if (!chat_is_too_long(x, h, x->request_bytes, &tokens))
		return false;
	r->outcome = CHAT_OVERFLOW;
	snprintf(r->why, sizeof r->why,
		 "the conversation has about %" PRId64 " tokens, and the model "
		 "takes %" PRId64,
		 tokens, x->config.limits.context);
	return true;
}

/* A part of the request that this model rejects can be left out: true, and the
 * next step repeats the request without it. */
static bool asks_less(struct chat *x, const struct chat_result *r)
{
	unsigned blamed;

	if (r->outcome != CHAT_REFUSED ||
	    (r->status != 400 && r->status != 404 && r->status != 415 &&
	     r->status != 422))
		return false;
	if (x->config.responses && !x->no_encrypted &&
	    strcasestr(r->why, "encrypted")) {
		x->no_encrypted = true;
		return true;
	}
	blamed = chat_media_blamed(x->sent_media, r->why);
	x->refused_media |= blamed;
	return blamed != 0;
}

/* The kinds that were in the request and will not be in the next one. */
static int note_less(struct chat *x, struct err *e)
{
	unsigned now = x->sent_media & x->refused_media;

	for (unsigned k = 0; k < CHAT_MEDIA_KINDS; k++)
		if ((now & CHAT_MEDIA_BIT(k)) &&
		    transcript_add_text(
			    &x->run->transcript, "note", e,
			    "the model takes no %s; the request names the "
			    "files",
			    chat_media_name((enum chat_media_kind)k)))
			return -1;
	return 0;
}

/* 1: the next step asks another model; 0: there is none. */
static int fall_back(struct chat *x, const struct chat_result *r, struct err *e)
{
	const char *from = x->config.model;
	const char *to = chat_config_fall_back(&x->config);
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	int rc;

	if (!to)
		return 0;
	x->no_encrypted = false;
	x->refused_media = 0;
	json_begin_object(&b);
	json_put_text(&b, "fallback", to);
	json_put_text(&b, "from", from);
	json_put_text(&b, "why", r->why);
	json_end_object(&b);
	rc = transcript_add_body(&x->run->transcript, "status", &b, e);
	return rc ? -1 : 1;
}

static int one_turn(struct chat *x, const struct chat_history *h, struct err *e)
{
	struct buf body = BUF_MAX(REQUEST_MAX);
	struct chat_result r = {0};
	int rc = turn_begin(x->run, NULL, e) ? -1
					     : chat_request(x, h, &body, e);
	bool too_long = false;

	x->request_bytes = body.n;
	x->asked_seq = chat_history_last_seq(h);
	if (rc == 0)
		too_long = is_too_long(x, h, &r);
	if (rc == 0 && !too_long)
		rc = request_with_retries(x, &body, &r, e);
	buf_fini(&body);
	if (rc)
		return rc > 0 ? turn_end(x->run, e) : -1;
	if (r.outcome == CHAT_OVERFLOW)
		return chat_compact(x, h, r.why, e);
	if (asks_less(x, &r))
		return note_less(x, e);
	if (r.outcome == CHAT_REFUSED)
		return chat_end(x,
				r.status == 401 || r.status == 403
					? REASON_login
					: REASON_agent_refused,
				"%s", r.why);
	if (r.outcome == CHAT_RETRY) {
		rc = fall_back(x, &r, e);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	if (r.outcome == CHAT_RETRY || r.outcome == CHAT_TOO_BIG)
		return chat_end(x, REASON_server_failed, "%s", r.why);
	rc = chat_answer_store(x, e);
	if (rc == 0)
		rc = check_answer(x, e);
	chat_answer_end(x);
	return rc ? -1 : turn_end(x->run, e);
}

/* The next step according to the transcript: a result, a turn, or the end. */
static int next_step(struct chat *x, struct arena *a, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct chat_history h;
	const struct chat_item *open, *last;

	if (chat_history_load(&h, &j->file, j->writer.session,
			      x->run->start->run, a, e))
		return -1;
	open = chat_history_unsettled(&h);
	if (open)
		return turn_begin(x->run, NULL, e) ||
				       repeat_open_calls(x, open, e)
			       ? -1
			       : turn_end(x->run, e);
	last = h.n ? &h.items[h.n - 1] : NULL;
	if (last && last->of_run && !last->by_user && last->ncalls == 0)
		return chat_end(x, REASON_completed, "%s", "");
	over_limit(x);
	return x->over ? 0 : one_turn(x, &h, e);
}

static int loop(struct chat *x, struct err *e)
{
	struct arena a = {0};
	int rc = 0;

	while (rc == 0 && !x->over) {
		arena_reset(&a);
		rc = run_wait(x->run, 0, e); /* waits during a pause */
		if (rc == 0)
			rc = next_step(x, &a, e);
	}
	arena_fini(&a);
	return rc;
}

/* --- the driver ---------------------------------------------------------- */

static int ask_supervisor(void *arg, const struct run_socket_request *q,
			  struct buf *out, struct err *e)
{
	return request_wait(arg, q, out, e);
}

/* The key is read before the worker loses access to skep's home. */
static int open_all(struct chat *x, struct err *e)
{
	struct run *r = x->run;

	if (part_abort_awaiting(&r->transcript.writer,
				"the worker that asked has exited", e) < 0 ||
	    chat_config_read(&x->config, r->start, &r->arena, e) ||
	    chat_http_open(&x->http, &x->config, e) ||
	    workspace_open_tools(r, x->config.exec || x->config.servers.n > 0,
				 files_vfs, e))
		return -1;
	if (!r->workspace->store.kind)
		return err_set(e, ERR_UNSUPPORTED,
			       "cannot open the workspace %s",
			       r->workspace->dir);
	mcp_init(&x->files, &r->workspace->store);
	if (r->start->has_children == 1) {
		x->files.request = ask_supervisor;
		x->files.request_arg = r;
	}
	return chat_mcp_open(&x->servers, r, &x->config.servers,
			     x->config.limits.mcp_timeout_ms, e);
}

static int chat_run(struct run *r, struct run_end *end, struct err *e)
{
	struct chat *x = arena_alloc(&r->arena, sizeof *x);
	int rc;

	*x = (struct chat){.run = r, .end = end};
	chat_turn_init(&x->turn);
	r->state = x;
	rc = open_all(x, e);
	if (rc == 0 && r->start->messages) /* for the first request */
		rc = run_poll(r, NULL, 0, 0, e);
	if (rc == 0)
		rc = loop(x, e);
	r->state = NULL;
	chat_answer_end(x);
	chat_turn_fini(&x->turn);
	chat_http_close(x->http);
	chat_mcp_close(x->servers);
	chat_config_clear(&x->config);
	if (x->files.store)
		mcp_fini(&x->files);
	return rc;
}

/* A message is an event by then, and the next read of the history finds it. */
static int chat_accepts(struct run *r, struct err *e)
{
	if (r->state)
		return 0;
	return err_set(e, ERR_CONFLICT, "the run has not started or has ended");
}

static void chat_on_message(struct run *r, const struct msg *m)
{
	(void)r;
	(void)m;
}

const struct driver driver_chat = {
	.name = "chat",
	.commands = true,
	.pauses_itself = true,
	.run = chat_run,
	.accepts = chat_accepts,
	.on_message = chat_on_message,
};
