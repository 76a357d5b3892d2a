#include "worker/driver/acp/acp.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "schema/agent/transcript/event_body.h"
#include "schema/agent/transcript/session.h"
#include "worker/run/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTED_MAX (256u << 10) /* of a command, in the part of its call */
#define NANO        1e9
#define TITLE_MAX   200

typedef int taker(struct acp *x, const cJSON *u, const char *as, struct err *e);

static const char *json_text_of(struct buf *b, const cJSON *v)
{
	if (!v || cJSON_IsNull(v))
		return NULL;
	json_add(b, v);
	return b->p;
}

/* An event with the complete update as its body. */
static int add_event(struct acp *x, const cJSON *u, const char *type,
		     const struct usage_new *usage, struct err *e)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	struct event_new ev = {
		.type = type, .parent = WRITER_LEAF, .usage = usage};
	struct err ignored;
	int rc;

	if (event_body_check(type, u, &ignored))
		ev.type = "raw";
	json_add(&b, u);
	ev.body = b.p;
	rc = buf_ok(&b, type, e);
	if (rc == 0)
		rc = transcript_add(&x->run->transcript, &ev, 1, NULL, e);
	buf_fini(&b);
	return rc;
}

static int take_event(struct acp *x, const cJSON *u, const char *as,
		      struct err *e)
{
	return add_event(x, u, as, NULL, e);
}

/* The agent's title becomes that of our session, if it has none. */
static int take_title(struct acp *x, const cJSON *u, const char *as,
		      struct err *e)
{
	struct transcript *j = &x->run->transcript;
	const char *title = json_text(u, "title", "");
	struct session_row row;
	struct arena a = {0};
	struct buf b = BUF_MAX(64u << 10);
	char fit[TITLE_MAX + 1];
	int rc = add_event(x, u, as, NULL, e);

	if (rc == 0 && title[0])
		rc = session_need(&j->file, j->writer.sid, &row, &a, e);
	if (rc == 0 && title[0] && !row.title) {
		text_fit(fit, sizeof fit, title);
		json_begin_object(&b);
		json_put_text(&b, "title", fit);
		json_end_object(&b);
		rc = session_patch(&j->file, j->writer.sid, b.p, 0, &row, &a,
				   e);
	}
	buf_fini(&b);
	arena_fini(&a);
	return rc;
}

/* Another kind of update ends the text, so that the order is kept. */
static int end_texts(struct acp *x, const char *but, struct err *e)
{
	static const char *const kinds[] = {"text", "reasoning"};

	for (int i = 0; i < 2; i++)
		if (!but || strcmp(but, kinds[i]) != 0)
			if (stream_end(&x->subprocess.output.stream, kinds[i],
				       "done", e))
				return -1;
	return 0;
}

static int take_chunk(struct acp *x, const cJSON *u, const char *as,
		      struct err *e)
{
	const cJSON *content = json_member(u, "content");
	const char *text = json_text(content, "text", NULL);
	const char *id = json_text(u, "messageId", "");
	char of[HASH_HEX];

	if (!text || strcmp(json_text(content, "type", "text"), "text") != 0)
		return end_texts(x, NULL, e) ? -1
					     : add_event(x, u, "raw", NULL, e);
	hash_of(id, strlen(id), of);
	if (strcmp(x->message, of) != 0) {
		if (end_texts(x, NULL, e))
			return -1;
		memcpy(x->message, of, sizeof of);
	}
	if (!text[0])
		return 0;
	return end_texts(x, as, e) ? -1
				   : stream_add(&x->subprocess.output.stream,
						as, as, text, e);
}

static struct acp_call *find_call(struct acp *x, const char *id)
{
	struct acp_call *c = x->calls;

	while (c && strcmp(c->id, id) != 0)
		c = c->next;
	return c;
}

static const char *state_of(const cJSON *u)
{
	static const char *const words[][2] = {{"pending", "input"},
					       {"in_progress", "running"},
					       {"completed", "done"},
					       {"failed", "error"}};
	const char *status = json_text(u, "status", "");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], status) == 0)
			return words[i][1];
	return NULL;
}

static bool is_final(const char *state)
{
	return state && (!strcmp(state, "done") || !strcmp(state, "error"));
}

/* The terminals that the content names, with the output of their commands: the
 * agent shows that through the client's terminal, not in its text. */
static void put_terminals(struct acp *x, const cJSON *content, struct buf *b)
{
	struct buf list = BUF_MAX(EVENT_BODY_MAX);
	const cJSON *v;
	size_t empty;

	json_begin_array(&list);
	empty = list.n;
	cJSON_ArrayForEach(v, content)
	{
		const char *id = json_text(v, "terminalId", NULL);

		if (!id || strcmp(json_text(v, "type", ""), "terminal") != 0)
			continue;
		(void)acp_terminal_shown(x, id, &list);
	}
	if (list.n > empty && !list.over) {
		json_end_array(&list);
		json_put_raw(b, "terminals", list.p);
	}
	buf_fini(&list);
}

/* Agents with their own terminals (codex) report the output of a command in
 * this way. */
static void append_printed(struct acp_call *c, const cJSON *u)
{
	const cJSON *meta = json_member(u, "_meta");
	const cJSON *more = json_member(meta, "terminal_output_delta");
	const cJSON *terminal = more ? more
				     : json_member(meta, "terminal_output");
	const char *data = json_text(terminal, "data", "");
	size_t n = strlen(data);

	if (n > PRINTED_MAX) {
		data += n - PRINTED_MAX;
		n = PRINTED_MAX;
	}
	if (c->printed.n + n > PRINTED_MAX)
		buf_drop(&c->printed, c->printed.n + n - PRINTED_MAX);
	(void)buf_add(&c->printed, data, n);
}

static void put_printed(const struct acp_call *c, const cJSON *u, struct buf *b)
{
	const cJSON *end = json_member(json_member(u, "_meta"),
				       "terminal_exit");

	if (!c || (c->printed.n == 0 && !end))
		return;
	json_key(b, "printed");
	json_add_string(b, c->printed.p, c->printed.n);
	json_put(b, "exit", end);
}

/* {"content": …, "raw": …, "terminals": …}, or nothing. The content of a call
 * that has not begun, as in a question about it, is what it would do. */
static const char *output_of(struct acp *x, const struct acp_call *c,
			     const cJSON *u, struct buf *b)
{
	const cJSON *content = json_member(u, "content");
	const cJSON *raw = json_member(u, "rawOutput");
	struct err ignored;
	cJSON *old = NULL;
	size_t empty;

	if (!json_member(u, "sessionUpdate") ||
	    strcmp(json_text(u, "status", ""), "pending") == 0)
		return NULL;
	if (is_final(state_of(u)) && !content && c && c->content)
		content = old = json_parse("content", c->content,
					   strlen(c->content), &ignored);
	json_begin_object(b);
	empty = b->n;
	if (cJSON_GetArraySize(content) > 0)
		json_put(b, "content", content);
	if (!cJSON_IsNull(raw))
		json_put(b, "raw", raw);
	if (is_final(state_of(u))) {
		put_terminals(x, content, b);
		put_printed(c, u, b);
	}
	cJSON_Delete(old);
	if (b->n == empty)
		return NULL;
	json_end_object(b);
	return b->p;
}

static const char *meta_of(struct buf *b, const cJSON *u)
{
	static const char *const names[] = {"title", "kind", "locations"};

	json_begin_object(b);
	for (int i = 0; i < 3; i++) {
		const cJSON *v = json_member(u, names[i]);

		if (!cJSON_IsNull(v))
			json_put(b, names[i], v);
	}
	json_end_object(b);
	return b->p;
}

static void close_call(struct acp_call *c)
{
	buf_fini(&c->printed);
	part_close(&c->part);
	c->open = false;
}

static int open_call(struct acp *x, const cJSON *u, const char *id,
		     const struct part_change_new *now, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct acp_call *c = arena_alloc(&x->run->arena, sizeof *c);
	const char *title = json_text(u, "title", json_text(u, "kind", "tool"));
	struct part_new new = {.kind = "tool",
			       .state = now->state ? now->state : "input",
			       .name = json_text(u, "name", title),
			       .call_id = id,
			       .input = now->input,
			       .output = now->output,
			       .meta = now->meta};
	struct event_new ev = {.type = "message",
			       .body = "{\"role\":\"assistant\"}",
			       .parent = WRITER_LEAF};
	struct event_ref ref;

	if (transcript_add(j, &ev, 1, &ref, e) ||
	    part_open(&c->part, &j->writer, ref.pos, &new, e))
		return -1;
	c->id = arena_text(&x->run->arena, id);
	buf_init(&c->printed, 2 * PRINTED_MAX);
	c->title = "a tool";
	c->kind = "other";
	c->open = true;
	c->next = x->calls;
	x->calls = c;
	if (is_final(new.state))
		close_call(c);
	return 0;
}

static int change_call(struct acp_call *c, const struct part_change_new *now,
		       struct err *e)
{
	if (!c->open)
		return 0; /* the raw update is stored anyway */
	if (part_set(&c->part, now, e) < 0)
		return -1;
	if (is_final(now->state))
		close_call(c);
	return 0;
}

static void keep_text(struct arena *a, const char **to, const cJSON *v)
{
	if (cJSON_IsString(v))
		*to = arena_text(a, v->valuestring);
}

static void keep_json(struct arena *a, const char **to, const cJSON *v)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	const char *text = json_text_of(&b, v);

	if (text)
		*to = arena_text(a, text);
	buf_fini(&b);
}

/* A question about the call contains its latest update. */
static void remember_call(struct acp *x, struct acp_call *c, const cJSON *u)
{
	struct arena *a = &x->run->arena;

	keep_text(a, &c->title, json_member(u, "title"));
	keep_text(a, &c->kind, json_member(u, "kind"));
	keep_json(a, &c->input, json_member(u, "rawInput"));
	keep_json(a, &c->locations, json_member(u, "locations"));
	if (!is_final(state_of(u))) /* the reply is ignored */
		keep_json(a, &c->content, json_member(u, "content"));
}

int acp_set_call(struct acp *x, struct acp_call *c, const char *state,
		 struct err *e)
{
	if (change_call(c, &(struct part_change_new){.state = state}, e))
		return -1;
	transcript_changed(&x->run->transcript);
	return 0;
}

static struct acp_call *find_or_add_call(struct acp *x, const char *id,
					 const cJSON *u)
{
	struct acp_call *c = find_call(x, id);

	if (c && c->open)
		append_printed(c, u);
	return c;
}

int acp_update_call(struct acp *x, const cJSON *u, struct acp_call **call,
		    struct err *e)
{
	struct buf b[3] = {BUF_MAX(EVENT_BODY_MAX), BUF_MAX(EVENT_BODY_MAX),
			   BUF_MAX(EVENT_BODY_MAX)};
	const char *id = json_text(u, "toolCallId", "");
	struct acp_call *c = find_or_add_call(x, id, u);
	struct part_change_new now = {
		.state = state_of(u),
		.input = json_text_of(&b[0], json_member(u, "rawInput")),
		.output = output_of(x, c, u, &b[1]),
		.meta = meta_of(&b[2], u)};
	int rc = end_texts(x, NULL, e);

	for (int i = 0; i < 3 && rc == 0; i++)
		rc = buf_ok(&b[i], "a tool call", e);
	if (rc == 0)
		rc = c ? change_call(c, &now, e) : open_call(x, u, id, &now, e);
	if (rc == 0)
		rc = add_event(x, u, "raw", NULL, e);
	*call = c ? c : x->calls;
	if (rc == 0)
		remember_call(x, *call, u);
	for (int i = 0; i < 3; i++)
		buf_fini(&b[i]);
	return rc;
}

static int take_call(struct acp *x, const cJSON *u, const char *as,
		     struct err *e)
{
	struct acp_call *c;

	(void)as;
	if (acp_update_call(x, u, &c, e))
		return -1;
	return turn_tool(x->run, c->open ? c->title : NULL, e);
}

int acp_close_calls(struct acp *x, const char *state, struct err *e)
{
	struct part_change_new now = {.state = state};

	for (struct acp_call *c = x->calls; c; c = c->next) {
		if (!c->open)
			continue;
		if (part_set(&c->part, &now, e) < 0)
			return -1;
		close_call(c);
		transcript_changed(&x->run->transcript);
	}
	return 0;
}

/* The agent reports the total cost of its session; only the increase is added.
 * If the total is lower than before, the agent has started to count again.
 * Other currencies than dollars are only stored in the event. */
static int take_usage(struct acp *x, const cJSON *u, const char *as,
		      struct err *e)
{
	const cJSON *cost = json_member(u, "cost");
	const cJSON *amount = json_member(cost, "amount");
	struct usage_new usage = {.model = NULL};
	double sum = cJSON_IsNumber(amount) ? amount->valuedouble : -1;

	if (!(sum >= 0 && sum < 1e6) ||
	    strcmp(json_text(cost, "currency", "USD"), "USD") != 0)
		return add_event(x, u, as, NULL, e);
	usage.cost_nano =
		(int64_t)((sum < x->cost ? sum : sum - x->cost) * NANO + 0.5);
	x->cost = sum;
	return add_event(x, u, as, &usage, e);
}

static int64_t count_of(const cJSON *u, const char *name)
{
	int64_t n = json_i64(u, name, 0);

	return n < 0 ? 0 : n;
}

/* The tokens of a turn, which some agents report at its end. */
int acp_usage(struct acp *x, const cJSON *reply, struct err *e)
{
	const cJSON *u = json_member(reply, "usage");
	struct usage_new usage = {
		.input = count_of(u, "inputTokens"),
		.output = count_of(u, "outputTokens"),
		.cached = count_of(u, "cachedReadTokens"),
		.reasoning = count_of(u, "thoughtTokens"),
	};

	return cJSON_IsObject(u) ? add_event(x, u, "usage", &usage, e) : 0;
}

int acp_update(struct acp *x, const cJSON *update, struct err *e)
{
	static const struct {
		const char *word;
		taker *take;
		const char *as;
	} kinds[] = {
#define UPDATE(word, take, as) {#word, take_##take, as},
#include "worker/driver/acp/update.def"
#undef UPDATE
	};
	const char *word = json_text(update, "sessionUpdate", "");

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].word, word) == 0)
			return kinds[i].take(x, update, kinds[i].as, e);
	return add_event(x, update, "raw", NULL, e);
}
