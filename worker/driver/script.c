/*
 * script: executes a list of steps, for tests, demos and benchmarks. The list
 * is "steps" of its configuration, or the prompt itself:
 *
 *   {"event": {"type": "note", …}, "repeat": 100, "every_ms": 10, "batch": 8}
 *   {"text": "a longer text", "chunks": 5, "every_ms": 20, "repeat": 2}
 *   {"tool": {"name": "x", "input": {}, "output": {}}, "ms": 50}
 *   {"ask": {"key": "k", "title": "may I?"}}     denied ends the run
 *   {"usage": {"input_tokens": 1, "output_tokens": 2, "cost_micros": 3}}
 *   {"outbox": {"key": "k", "target": {}, "body": {}}}
 *   {"await_message": true}     and repeats the message
 *   {"sleep_ms": 100}
 *   {"fail": "why"}             the run fails
 *   {"crash": "why"}            the worker dies by SIGKILL
 *   {"stall": "why"}            ignores everything, including SIGTERM
 *
 * Any step may have "at_ms": not before this time after the start of the
 * script; and "attempts": n: only in the first n attempts.
 */
#include "worker/driver/script.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "worker/driver/driver.h"
#include "worker/process/output_line.h"
#include "worker/run/stream.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_MS  1000000
#define REPEAT_MAX 10000000
#define BATCH_MAX  256

struct script {
	struct run *run;
	struct stream stream;
	struct run_end *end;
	int64_t began;
	bool over; /* skip all further steps */
	int number;
	struct buf message; /* a message that no step has awaited yet */
};

static int bad(const struct script *s, const char *what, struct err *e)
{
	return err_set(e, ERR_INVALID, "script: step %d: %s", s->number, what);
}

static int64_t number_member(const cJSON *step, const char *name, int64_t other,
			     int64_t max)
{
	int64_t v = json_i64(step, name, other);

	return v < 0 ? 0 : v > max ? max : v;
}

/* The value of a step as an event, by the rules of the exec driver. */
static void event_of(struct script *s, const cJSON *v, struct arena *a,
		     struct exec_line *x)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	struct line line = {.whole = true, .last = true};

	json_add(&b, v);
	line.p = b.p;
	line.n = b.n;
	exec_line(&line, "output", s->run->start->run, a, x);
	buf_fini(&b);
}

/* The next of a series of events is due `ms` after the last one was due,
 * however long that took; a late series does not catch up. */
static int keep_pace(struct script *s, int64_t *due, int64_t ms, struct err *e)
{
	int64_t now = clock_mono_ns();

	*due += ms * NS_PER_MS;
	if (*due < now)
		*due = now;
	return run_wait(s->run, (*due - now + NS_PER_MS - 1) / NS_PER_MS, e);
}

static int do_event(struct script *s, const cJSON *step, const cJSON *v,
		    struct err *e)
{
	int64_t left = number_member(step, "repeat", 1, REPEAT_MAX);
	int64_t batch = number_member(step, "batch", 1, BATCH_MAX);
	int64_t every = number_member(step, "every_ms", 0, INT32_MAX);
	int64_t due = clock_mono_ns();
	struct event_new evs[BATCH_MAX];
	struct arena a = {0};
	struct exec_line x;
	int rc = 0;

	event_of(s, v, &a, &x);
	if (x.kind != EXEC_EVENT)
		rc = bad(s, "this type of event has a step of its own", e);
	for (int i = 0; i < BATCH_MAX; i++)
		evs[i] = x.event;
	while (rc == 0 && left > 0) {
		size_t n = (size_t)(batch < 1      ? 1
				    : batch < left ? batch
						   : left);

		rc = transcript_add(&s->run->transcript, evs, n, NULL, e);
		left -= (int64_t)n;
		if (rc == 0)
			rc = keep_pace(s, &due, left > 0 ? every : 0, e);
	}
	arena_fini(&a);
	return rc;
}

/* Streams the text in pieces of about `size` bytes, at the rate of the step.
 * chunk has room for one. */
static int stream_text(struct script *s, const char *p, char *chunk,
		       size_t size, int64_t every, struct err *e)
{
	size_t n = strlen(p);
	int rc = 0;

	while (rc == 0 && n > 0) {
		size_t some = 0, one;

		while (some < size && some < n &&
		       (one = text_utf8_char(p + some, n - some)) > 0)
			some += one;
		memcpy(chunk, p, some);
		chunk[some] = '\0';
		rc = stream_add(&s->stream, "text", "text", chunk, e);
		p += some;
		n -= some;
		if (rc == 0)
			rc = run_wait(s->run, n > 0 ? every : 0, e);
	}
	return rc;
}

static int do_text(struct script *s, const cJSON *step, const cJSON *v,
		   struct err *e)
{
	const char *p = cJSON_GetStringValue(v);
	int64_t chunks = number_member(step, "chunks", 1, REPEAT_MAX);
	int64_t every = number_member(step, "every_ms", 0, INT32_MAX);
	int64_t repeat = number_member(step, "repeat", 1, REPEAT_MAX);
	size_t size;
	char *chunk;
	int rc = 0;

	if (!p)
		return bad(s, "text is not a text", e);
	size = strlen(p) / (size_t)(chunks < 1 ? 1 : chunks) + 1;
	chunk = arena_alloc(&s->run->arena, size + 8);
	while (rc == 0 && repeat-- > 0)
		rc = stream_text(s, p, chunk, size, every, e);
	if (rc == 0)
		rc = stream_end(&s->stream, "text", "done", e);
	return rc;
}

static const char *member_text(struct script *s, const cJSON *v,
			       const char *name)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, name);
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	const char *text = NULL;

	if (m) {
		json_add(&b, m);
		text = arena_textn(&s->run->arena, b.p, b.n);
	}
	buf_fini(&b);
	return text;
}

static int do_tool(struct script *s, const cJSON *step, const cJSON *v,
		   struct err *e)
{
	struct transcript *j = &s->run->transcript;
	struct event_new ev = {.type = "message",
			       .body = "{\"role\":\"assistant\"}",
			       .parent = WRITER_LEAF};
	struct part_new call = {.kind = "tool",
				.state = "running",
				.name = json_text(v, "name", "tool"),
				.call_id = json_text(v, "call_id", NULL),
				.input = member_text(s, v, "input")};
	struct part_change_new done = {.state = "done",
				       .output = member_text(s, v, "output")};
	struct part part;
	struct event_ref ref;
	int rc;

	if (transcript_add(j, &ev, 1, &ref, e) ||
	    part_open(&part, &j->writer, ref.pos, &call, e))
		return -1;
	transcript_changed(j);
	rc = run_wait(s->run, number_member(step, "ms", 0, INT32_MAX), e);
	if (rc) {
		struct err ignored; /* the first reason counts */

		(void)part_set(&part,
			       &(struct part_change_new){.state = "aborted"},
			       &ignored);
	} else if (part_set(&part, &done, e) < 0) {
		rc = -1;
	}
	transcript_changed(j);
	part_close(&part);
	return rc;
}

static int do_ask(struct script *s, const cJSON *step, const cJSON *v,
		  struct err *e)
{
	struct msg_approval q = {
		.key = json_text(v, "key", NULL),
		.title = json_text(v, "title", "continue?"),
		.detail = member_text(s, v, "detail"),
		.timeout_ms = json_i64(v, "timeout_ms", OPT_NONE),
		.fallback = json_text(v, "fallback", NULL),
	};
	int rc;

	(void)step;
	if (!q.key)
		return bad(s, "a question needs a key", e);
	rc = run_ask(s->run, &q, e);
	if (rc == 0) {
		s->over = true;
		s->end->reason = REASON_denied;
		text_fit(s->end->detail, sizeof s->end->detail, q.title);
	}
	return rc < 0 ? -1 : 0;
}

/* usage and outbox: a member of the same name determines the kind. */
static int do_extra(struct script *s, const cJSON *step, const cJSON *v,
		    struct err *e)
{
	bool usage = cJSON_GetObjectItemCaseSensitive(step, "usage") != NULL;
	cJSON *as = usage ? cJSON_Duplicate(v, true) : cJSON_CreateObject();
	struct arena a = {0};
	struct exec_line x;
	int rc;

	if (!usage) {
		cJSON_AddStringToObject(as, "role", "assistant");
		cJSON_AddStringToObject(as, "key", json_text(v, "key", "out"));
		cJSON_AddItemToObject(as, "outbox", cJSON_Duplicate(v, true));
	}
	cJSON_AddStringToObject(as, "type", usage ? "usage" : "message");
	event_of(s, as, &a, &x);
	rc = transcript_add(&s->run->transcript, &x.event, 1, NULL, e);
	cJSON_Delete(as);
	arena_fini(&a);
	return rc;
}

static int do_await(struct script *s, const cJSON *step, const cJSON *v,
		    struct err *e)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	int rc = 0;

	(void)step;
	(void)v;
	while (rc == 0 && (s->message.n == 0 || s->run->paused)) {
		if (run_ending(s->run))
			rc = err_set(e, ERR_CANCELED, "no message arrived");
		else
			rc = run_poll(s->run, NULL, 0, 60000, e);
	}
	if (rc == 0) {
		json_begin_object(&b);
		json_put_text(&b, "role", "assistant");
		json_put_text(&b, "content", s->message.p);
		json_end_object(&b);
		rc = transcript_add_body(&s->run->transcript, "message", &b, e);
	}
	buf_clear(&s->message);
	return rc;
}

static int do_sleep(struct script *s, const cJSON *step, const cJSON *v,
		    struct err *e)
{
	(void)v;
	return run_wait(s->run, number_member(step, "sleep_ms", 0, INT32_MAX),
			e);
}

static int do_fail(struct script *s, const cJSON *step, const cJSON *v,
		   struct err *e)
{
	const char *why = cJSON_GetStringValue(v);

	(void)step;
	(void)e;
	s->over = true;
	s->end->reason = REASON_script_failed;
	text_fit(s->end->detail, sizeof s->end->detail,
		 why ? why : "requested by the script");
	return 0;
}

static int do_crash(struct script *s, const cJSON *step, const cJSON *v,
		    struct err *e)
{
	(void)step;
	(void)v;
	(void)kill(getpid(), SIGKILL);
	return bad(s, "SIGKILL did not kill", e);
}

static int do_stall(struct script *s, const cJSON *step, const cJSON *v,
		    struct err *e)
{
	(void)step;
	(void)v;
	for (;;)
		pause();
	return bad(s, "it went on", e);
}

static const struct verb {
	const char *name;
	int (*act)(struct script *s, const cJSON *step, const cJSON *value,
		   struct err *e);
} verbs[] = {
	{"event", do_event},         {"text", do_text},
	{"tool", do_tool},           {"ask", do_ask},
	{"usage", do_extra},         {"outbox", do_extra},
	{"await_message", do_await}, {"sleep_ms", do_sleep},
	{"fail", do_fail},           {"crash", do_crash},
	{"stall", do_stall},
};

/* The action of the step, and the value of that member. */
static const struct verb *find_verb(const cJSON *step, const cJSON **v)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		*v = cJSON_GetObjectItemCaseSensitive(step, verbs[i].name);
		if (*v)
			return &verbs[i];
	}
	return NULL;
}

static int play_step(struct script *s, const cJSON *step, struct err *e)
{
	const struct verb *verb;
	const cJSON *v;
	int64_t at = json_i64(step, "at_ms", 0);
	int64_t now = (clock_mono_ns() - s->began) / NS_PER_MS;

	if (json_i64(step, "attempts", INT32_MAX) < s->run->start->attempt)
		return 0;
	if (run_wait(s->run, at > now ? at - now : 0, e))
		return -1;
	verb = find_verb(step, &v);
	return verb ? verb->act(s, step, v, e)
		    : bad(s, "it names nothing to do", e);
}

int script_check(const cJSON *steps, struct err *e)
{
	struct script s = {.number = 0};
	const cJSON *step, *v;

	if (!cJSON_IsArray(steps))
		return err_set(e, ERR_INVALID, "the steps are not an array");
	cJSON_ArrayForEach(step, steps)
	{
		s.number++;
		if (!find_verb(step, &v))
			return bad(&s, "it names nothing to do", e);
	}
	return 0;
}

static int play(struct script *s, const cJSON *steps, struct err *e)
{
	const cJSON *step;

	if (!cJSON_IsArray(steps))
		return err_set(e, ERR_INVALID,
			       "script: the steps are not an array");
	s->end->reason = REASON_completed;
	cJSON_ArrayForEach(step, steps)
	{
		s->number++;
		if (play_step(s, step, e))
			return -1;
		if (s->over)
			return 0;
	}
	return run_wait(s->run, 0, e);
}

static int script_run(struct run *r, struct run_end *end, struct err *e)
{
	const char *config = r->start->config ? r->start->config : "{}";
	struct script *s = arena_alloc(&r->arena, sizeof *s);
	struct err ignored;
	cJSON *v = json_parse_object("script", config, strlen(config), e);
	cJSON *steps = cJSON_GetObjectItemCaseSensitive(v, "steps");
	cJSON *own = NULL;
	int rc = v ? 0 : -1;

	*s = (struct script){.run = r,
			     .stream.transcript = &r->transcript,
			     .end = end,
			     .began = clock_mono_ns(),
			     .message = BUF_MAX(MSG_MAX_BYTES)};
	if (v && !steps) {
		own = steps = json_parse("script", r->start->prompt,
					 strlen(r->start->prompt), e);
		rc = own ? 0 : -1;
	}
	r->state = s;
	if (rc == 0)
		rc = play(s, steps, e);
	(void)stream_end_all(&s->stream, "aborted", &ignored);
	r->state = NULL;
	cJSON_Delete(own);
	cJSON_Delete(v);
	buf_fini(&s->message);
	return rc;
}

static int script_accepts(struct run *r, struct err *e)
{
	(void)e;
	return r->state ? 0 : err_set(e, ERR_CONFLICT, "the script has ended");
}

static void script_on_message(struct run *r, const struct msg *m)
{
	struct script *s = r->state;

	if (s && m->type == MSG_TYPE_MESSAGE) {
		buf_clear(&s->message);
		buf_adds(&s->message, m->u.message.text);
	}
}

const struct driver driver_script = {
	.name = "script",
	.pauses_itself = true,
	.run = script_run,
	.accepts = script_accepts,
	.on_message = script_on_message,
};
