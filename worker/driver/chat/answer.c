#include "worker/driver/chat/chat.h"

#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_MS 1000000
#define NANO      1e9
#define MILLION   1e6

static int chat_answer_grew(void *arg, enum chat_grows what, int call,
			    const char *text, size_t n, struct err *e);

void chat_answer_begin(struct chat *x)
{
	chat_turn_fini(&x->turn);
	chat_turn_init(&x->turn);
	x->turn.grew = chat_answer_grew;
	x->turn.arg = x;
	x->pos = 0;
}

static int open_message(struct chat *x, struct err *e)
{
	struct event_new ev = {.type = "message", .parent = WRITER_LEAF};
	struct buf body = BUF_MAX(256);
	struct event_ref ref = {0};
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "role", "assistant");
	json_put_int(&body, "turn", x->turns + 1);
	json_put_int(&body, "after", x->asked_seq);
	json_end_object(&body);
	ev.body = body.p;
	rc = transcript_add(&x->run->transcript, &ev, 1, &ref, e);
	buf_fini(&body);
	x->pos = ref.pos;
	return rc;
}

/* The event of the answer, with its first part. */
static int open_part(struct chat *x, struct part *p, const struct part_new *new,
		     struct err *e)
{
	struct transcript *j = &x->run->transcript;

	if (!x->pos && open_message(x, e))
		return -1;
	return part_open(p, &j->writer, x->pos, new, e);
}

static int add_to_part(struct chat *x, struct part *p, const char *text,
		       size_t n, struct err *e)
{
	int rc = part_add(p, text, n, e);

	if (rc > 0)
		transcript_changed(&x->run->transcript);
	return rc < 0 ? -1 : 0;
}

/* A call becomes visible when its name and id are known; earlier pieces are in
 * the turn. */
static int grow_call(struct chat *x, int i, const char *text, size_t n,
		     struct err *e)
{
	const struct chat_call *c = &x->turn.calls[i];
	struct part_new new = {.kind = "tool",
			       .state = "input",
			       .name = c->name,
			       .call_id = c->id};

	if (x->call_open[i])
		return n ? add_to_part(x, &x->calls[i], text, n, e) : 0;
	if (!c->name[0] || !c->id[0])
		return 0;
	if (open_part(x, &x->calls[i], &new, e))
		return -1;
	x->call_open[i] = true;
	return c->args.n ? add_to_part(x, &x->calls[i], c->args.p, c->args.n, e)
			 : 0;
}

static int change_part(struct part *p, const struct part_change_new *now,
		       struct err *e)
{
	return part_set(p, now, e) < 0 ? -1 : 0;
}

/* The part of the text becomes reasoning; the rest of the answer gets a new
 * part. */
static int text_was_reasoning(struct chat *x, struct err *e)
{
	struct part_change_new now = {.kind = "reasoning",
				      .state = x->reasoning_open ? "done"
								 : NULL};

	if (!x->text_open)
		return 0;
	if (change_part(&x->text, &now, e))
		return -1;
	if (x->reasoning_open)
		part_close(&x->text);
	else
		x->reasoning = x->text;
	x->reasoning_open = true;
	x->text_open = false;
	transcript_changed(&x->run->transcript);
	return 0;
}

static int chat_answer_grew(void *arg, enum chat_grows what, int call,
			    const char *text, size_t n, struct err *e)
{
	struct chat *x = arg;
	bool *open = what == CHAT_TEXT ? &x->text_open : &x->reasoning_open;
	struct part *p = what == CHAT_TEXT ? &x->text : &x->reasoning;
	struct part_new new = {.kind = what == CHAT_TEXT ? "text"
							 : "reasoning"};

	if (what == CHAT_CALL)
		return grow_call(x, call, text, n, e);
	if (what == CHAT_THOUGHT)
		return text_was_reasoning(x, e);
	if (!*open && open_part(x, p, &new, e))
		return -1;
	*open = true;
	return add_to_part(x, p, text, n, e);
}

static int flush_one(struct chat *x, struct part *p, int64_t *ms, struct err *e)
{
	int64_t due = part_due_ns(p), left;

	if (due == 0)
		return 0;
	left = (due - clock_mono_ns()) / NS_PER_MS;
	if (left > 0) {
		*ms = left < *ms ? left : *ms;
		return 0;
	}
	if (part_flush(p, e) < 0)
		return -1;
	transcript_changed(&x->run->transcript);
	return 0;
}

int chat_answer_flush(void *arg, int64_t *ms, struct err *e)
{
	struct chat *x = arg;

	if ((x->text_open && flush_one(x, &x->text, ms, e)) ||
	    (x->reasoning_open && flush_one(x, &x->reasoning, ms, e)))
		return -1;
	for (int i = 0; i < x->turn.ncalls; i++)
		if (x->call_open[i] && flush_one(x, &x->calls[i], ms, e))
			return -1;
	return 0;
}

/* --- the end of an answer ------------------------------------------------ */

int chat_store_usage(struct chat *x, const struct chat_turn *t, struct err *e)
{
	const struct chat_usage *u = &t->usage;
	const struct chat_config *c = &x->config;
	double cached = c->price_cached > 0 ? c->price_cached : c->price_input;
	double cost = u->cost > 0 ? u->cost
				  : ((double)(u->input - u->cached) *
					     c->price_input +
				     (double)u->cached * cached +
				     (double)u->output * c->price_output) /
					    MILLION;
	struct usage_new usage = {.model = t->model[0] ? t->model : c->model,
				  .input = u->input,
				  .output = u->output,
				  .cached = u->cached,
				  .reasoning = u->reasoning,
				  .cost_nano = (int64_t)(cost * NANO)};
	struct event_new ev = {
		.type = "usage", .parent = WRITER_LEAF, .usage = &usage};
	struct buf body = BUF_MAX(1024);
	int rc;

	json_begin_object(&body);
	json_put_int(&body, "input_tokens", u->input);
	json_put_int(&body, "output_tokens", u->output);
	json_put_int(&body, "cached_tokens", u->cached);
	json_put_int(&body, "reasoning_tokens", u->reasoning);
	json_key(&body, "cost");
	json_add_real(&body, cost);
	json_end_object(&body);
	ev.body = body.p;
	x->tokens += u->input + u->output;
	x->cost += cost;
	rc = transcript_add(&x->run->transcript, &ev, 1, NULL, e);
	buf_fini(&body);
	return rc;
}

static int set_part_state(struct part *p, const char *state, const char *output,
			  struct err *e)
{
	return change_part(
		p, &(struct part_change_new){.state = state, .output = output},
		e);
}

/* The arguments from the server may not be JSON; the row must be. */
static int store_call(struct chat *x, int i, struct err *e)
{
	const struct chat_call *c = &x->turn.calls[i];
	struct buf input = BUF_MAX(4 * CHAT_ARGS_MAX);
	struct part_new new = {.kind = "tool",
			       .state = "input",
			       .name = c->name,
			       .call_id = c->id};
	struct buf meta = BUF_MAX(4 * CHAT_ARGS_MAX);
	struct err bad;
	cJSON *v = chat_call_args(c, &bad);
	int rc = 0;

	if (v)
		json_add(&input, v);
	else
		json_add_string(&input, c->args.p, c->args.n);
	cJSON_Delete(v);
	if (!x->call_open[i]) {
		rc = open_part(x, &x->calls[i], &new, e);
		x->call_open[i] = rc == 0;
	}
	chat_state_write_call(c, x->config.from, &meta);
	if (rc == 0)
		rc = change_part(&x->calls[i],
				 &(struct part_change_new){
					 .state = "running",
					 .input = input.p,
					 .meta = meta.n ? meta.p : NULL},
				 e);
	buf_fini(&input);
	buf_fini(&meta);
	return rc;
}

static int open_if(struct chat *x, bool wanted, bool *open, struct part *p,
		   const char *kind, struct err *e)
{
	if (!wanted || *open)
		return 0;
	if (open_part(x, p, &(struct part_new){.kind = kind}, e))
		return -1;
	*open = true;
	return 0;
}

/* An answer that cannot be stored completely is requested again, so its first
 * part is finished last. An empty answer gets an empty text: the transcript
 * then shows that the model has answered. */
static int store_parts(struct chat *x, const char *state, struct err *e)
{
	struct part_change_new text = {.state = "done"};
	struct part_change_new reasoning = {.state = "done", .meta = state};

	if (strcmp(x->turn.finish, "refusal") == 0)
		text.meta = "{\"refusal\":true}";
	if (open_if(x, state != NULL, &x->reasoning_open, &x->reasoning,
		    "reasoning", e) ||
	    open_if(x, chat_turn_calls(&x->turn) == 0, &x->text_open, &x->text,
		    "text", e))
		return -1;
	for (int i = 0; i < x->turn.ncalls; i++)
		if (x->turn.calls[i].name[0] && store_call(x, i, e))
			return -1;
	return (x->text_open && change_part(&x->text, &text, e)) ||
			       (x->reasoning_open &&
				change_part(&x->reasoning, &reasoning, e))
		       ? -1
		       : 0;
}

static int note_replaced(struct chat *x, struct err *e)
{
	if (x->turn.replaced == 0)
		return 0;
	return transcript_add_text(&x->run->transcript, "note", e,
				   "the server sent %zu invalid characters; "
				   "they were replaced by U+FFFD",
				   x->turn.replaced);
}

int chat_answer_store(struct chat *x, struct err *e)
{
	struct buf state = BUF_MAX(4 * CHAT_TEXT_MAX);
	int rc;

	chat_state_write(&x->turn, x->config.from, &state);
	rc = chat_store_usage(x, &x->turn, e) || note_replaced(x, e) ||
			     store_parts(
				     x, state.n && !state.over ? state.p : NULL,
				     e)
		     ? -1
		     : 0;
	buf_fini(&state);
	transcript_changed(&x->run->transcript);
	return rc;
}

int chat_answer_drop(struct chat *x, const char *why, struct err *e)
{
	struct buf b = BUF_MAX(4096);
	int rc = 0;

	json_add_string(&b, why, strlen(why));
	if (x->text_open)
		rc |= set_part_state(&x->text, "aborted", b.p, e);
	if (x->reasoning_open)
		rc |= set_part_state(&x->reasoning, "aborted", b.p, e);
	for (int i = 0; i < CHAT_CALLS; i++)
		if (x->call_open[i])
			rc |= set_part_state(&x->calls[i], "aborted", b.p, e);
	buf_fini(&b);
	chat_answer_end(x);
	return rc ? -1 : 0;
}

int chat_answer_result(struct chat *x, int call, const struct buf *text,
		       bool failed, struct err *e)
{
	struct buf b = BUF_MAX(8u * CHAT_TEXT_MAX);
	int rc;

	json_begin_object(&b);
	json_key(&b, "text");
	json_add_string(&b, text->p, text->n);
	json_end_object(&b);
	rc = set_part_state(&x->calls[call], failed ? "error" : "done", b.p, e);
	buf_fini(&b);
	transcript_changed(&x->run->transcript);
	return rc;
}

void chat_answer_end(struct chat *x)
{
	if (x->text_open)
		part_close(&x->text);
	if (x->reasoning_open)
		part_close(&x->reasoning);
	for (int i = 0; i < CHAT_CALLS; i++)
		if (x->call_open[i])
			part_close(&x->calls[i]);
	x->text_open = x->reasoning_open = false;
	memset(x->call_open, 0, sizeof x->call_open);
}
