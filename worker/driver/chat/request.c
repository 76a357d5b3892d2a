#include "worker/driver/chat/chat.h"

#include "worker/driver/chat/media.h"

#include <string.h>

#define UNKNOWN "The tool was interrupted; it is unknown whether it completed."

static void add_message(struct buf *b, const char *role, const char *text)
{
	json_begin_object(b);
	json_put_text(b, "role", role);
	json_put_text(b, "content", text);
	json_end_object(b);
}

/* Another model cannot use the reasoning. */
static bool is_own(const struct chat *x, const struct chat_state *s)
{
	return s->from && strcmp(s->from, x->config.from) == 0;
}

/* --- chat completions --------------------------------------------------- */

/* Whether the text of the reasoning is sent back: that of the current turn, and
 * that of turns with tools, which DeepSeek and Moonshot require. A turn is
 * everything between two messages of the user. */
static bool returns_reasoning(const struct chat_history *h, int i)
{
	int first = i, last = i;
	bool tools = false;

	while (first > 0 && !h->items[first - 1].by_user)
		first--;
	while (last < h->n && !h->items[last].by_user)
		tools = h->items[last++].ncalls > 0 || tools;
	for (int k = first; k < i; k++)
		tools = h->items[k].ncalls > 0 || tools;
	return tools || last == h->n;
}

static bool is_tag(const struct chat_state *s)
{
	return chat_think_close(s->field) != NULL;
}

static bool in_parts(const struct chat_state *s)
{
	return s->field && strcmp(s->field, CHAT_FIELD_PARTS) == 0;
}

static void begin_part(struct buf *b, const char *type)
{
	json_begin_object(b);
	json_put_text(b, "type", type);
}

static void add_text_part(struct buf *b, const char *type, const char *text)
{
	begin_part(b, type);
	json_put_text(b, "text", text);
	json_end_object(b);
}

static void put_parts(struct buf *b, const char *thought, const char *text)
{
	json_put_array(b, "content");
	begin_part(b, "thinking");
	json_put_array(b, "thinking");
	add_text_part(b, "text", thought);
	json_end_array(b);
	json_end_object(b);
	add_text_part(b, "text", text);
	json_end_array(b);
}

/* The content including the reasoning, if it was part of it. */
static void put_message_content(struct buf *b, const struct chat_item *it,
				const struct chat_state *s)
{
	const char *thought = s && s->reasoning ? s->reasoning : "";
	struct buf text = BUF_MAX(2 * CHAT_TEXT_MAX);

	if (s && is_tag(s)) {
		buf_addf(&text, "%s%s%s\n%s", s->field, thought,
			 chat_think_close(s->field), it->text);
		json_put_text(b, "content", text.p);
	} else if (s && in_parts(s)) {
		put_parts(b, thought, it->text);
	} else if (it->text[0] || it->ncalls == 0) {
		json_put_text(b, "content", it->text);
	} else {
		json_put_null(b, "content");
	}
	buf_fini(&text);
}

static void put_state(struct buf *b, const struct chat_state *s, bool texts)
{
	if (texts && s->field && !is_tag(s) && !in_parts(s) && !s->details)
		json_put_text(b, s->field, s->reasoning ? s->reasoning : "");
	if (s->list)
		json_put_raw(b, s->list, s->details);
	json_put_raw(b, "extra_content", s->extra);
}

/* JSON text of an object: some servers parse it and reject every request of the
 * conversation if it is not one. */
static void put_arguments(struct buf *b, const char *input)
{
	struct buf object = BUF_MAX(strlen(input) + 64);

	if (input[0] != '{') {
		json_begin_object(&object);
		json_put_raw(&object, "arguments", input);
		json_end_object(&object);
		input = object.p;
	}
	json_put_text(b, "arguments", input);
	buf_fini(&object);
}

static void put_calls(const struct chat *x, const struct chat_item *it,
		      struct buf *b)
{
	json_put_array(b, "tool_calls");
	for (int i = 0; i < it->ncalls; i++) {
		const struct chat_past_call *c = &it->calls[i];

		json_begin_object(b);
		json_put_text(b, "id", c->id);
		json_put_text(b, "type", "function");
		json_put_object(b, "function");
		json_put_text(b, "name", c->name);
		put_arguments(b, c->input);
		json_end_object(b);
		if (is_own(x, &c->state))
			json_put_raw(b, "extra_content", c->state.extra);
		json_end_object(b);
	}
	json_end_array(b);
}

static void add_assistant(const struct chat *x, const struct chat_history *h,
			  int n, struct buf *b)
{
	const struct chat_item *it = &h->items[n];
	bool own = is_own(x, &it->state),
	     texts = own && returns_reasoning(h, n);

	if (!it->text[0] && it->ncalls == 0)
		return; /* an empty answer; servers reject empty messages */
	json_begin_object(b);
	json_put_text(b, "role", "assistant");
	put_message_content(b, it, texts ? &it->state : NULL);
	if (own)
		put_state(b, &it->state, texts);
	if (it->ncalls > 0)
		put_calls(x, it, b);
	json_end_object(b);
	for (int i = 0; i < it->ncalls; i++) {
		const char *text = it->calls[i].output;

		json_begin_object(b);
		json_put_text(b, "role", "tool");
		json_put_text(b, "tool_call_id", it->calls[i].id);
		json_put_text(b, "content", text ? text : UNKNOWN);
		json_end_object(b);
	}
}

/* --- the Responses API --------------------------------------------------- */

/* Reasoning items keep their place before the same call. Those of an answer
 * without text and calls are left out. */
static void add_reasoning(struct buf *b, const struct chat_state *s,
			  int64_t call, bool last)
{
	for (int i = 0; i < s->nitems; i++)
		if (s->items[i].before == call ||
		    (last && s->items[i].before > call))
			json_add_raw(b, s->items[i].json);
}

static void add_items(const struct chat *x, const struct chat_item *it,
		      struct buf *b)
{
	bool own = is_own(x, &it->state);

	if (!it->text[0] && it->ncalls == 0)
		return;
	if (own)
		add_reasoning(b, &it->state, 0, it->ncalls <= 1);
	if (it->text[0])
		add_message(b, "assistant", it->text);
	for (int i = 0; i < it->ncalls; i++) {
		const struct chat_past_call *c = &it->calls[i];

		if (own && i > 0)
			add_reasoning(b, &it->state, i, i == it->ncalls - 1);
		begin_part(b, "function_call");
		json_put_text(b, "call_id", c->id);
		json_put_text(b, "name", c->name);
		put_arguments(b, c->input);
		json_end_object(b);
		begin_part(b, "function_call_output");
		json_put_text(b, "call_id", c->id);
		json_put_text(b, "output", c->output ? c->output : UNKNOWN);
		json_end_object(b);
	}
}

/* --- both ---------------------------------------------------------------- */

static unsigned media_kinds(const struct chat *x)
{
	unsigned kinds = CHAT_MEDIA_ALL & ~x->refused_media;

	if (!x->config.images)
		kinds &= ~CHAT_MEDIA_BIT(CHAT_MEDIA_PICTURE);
	return x->config.files ? kinds
			       : kinds & CHAT_MEDIA_BIT(CHAT_MEDIA_PICTURE);
}

/* A text, or a list of the text and its files. */
static void add_user(struct chat *x, const char *text, struct buf *b)
{
	bool responses = x->config.responses;
	struct chat_media_parts m = {.parts = BUF_MAX(b->max),
				     .notes = BUF_MAX(64u << 10),
				     .room = x->media_room};
	struct buf all = BUF_MAX(b->max);

	chat_media_add(x->run, text, responses, media_kinds(x), &m);
	x->media_room = m.room;
	x->sent_media |= m.sent;
	buf_adds(&all, text);
	buf_add(&all, m.notes.p, m.notes.n);
	if (m.parts.n == 0) {
		add_message(b, "user", all.n ? all.p : "");
	} else {
		json_begin_object(b);
		json_put_text(b, "role", "user");
		json_put_array(b, "content");
		add_text_part(b, responses ? "input_text" : "text", all.p);
		json_add_raw(b, m.parts.p);
		json_end_array(b);
		json_end_object(b);
	}
	buf_fini(&all);
	buf_fini(&m.parts);
	buf_fini(&m.notes);
}

static void add_history(struct chat *x, const struct chat_history *h,
			struct buf *b)
{
	if (x->config.system && !x->config.responses)
		add_message(b, "system", x->config.system);
	if (h->summary) {
		struct buf text = BUF_MAX(1u << 20);

		buf_addf(&text, "What happened before, in short:\n%s",
			 h->summary);
		add_message(b, "user", text.p);
		buf_fini(&text);
	}
	for (int i = 0; i < h->n; i++) {
		if (h->items[i].by_user)
			add_user(x, h->items[i].text, b);
		else if (x->config.responses)
			add_items(x, &h->items[i], b);
		else
			add_assistant(x, h, i, b);
	}
}

/* The user cannot override our own members. */
static int put_params(const struct chat *x, struct buf *b, struct err *e)
{
	static const char *const ours[] = {"model",  "stream", "messages",
					   "input",  "tools",  "instructions",
					   "include"};
	const char *text = x->config.params;
	cJSON *v = text ? json_parse_object("params", text, strlen(text), e)
			: NULL;
	const cJSON *m;

	if (text && !v)
		return -1;
	cJSON_ArrayForEach(m, v)
	{
		size_t i = 0;

		while (i < sizeof ours / sizeof *ours &&
		       strcmp(ours[i], m->string) != 0)
			i++;
		if (i == sizeof ours / sizeof *ours)
			json_put(b, m->string, m);
	}
	cJSON_Delete(v);
	return 0;
}

int chat_request(struct chat *x, const struct chat_history *h, struct buf *out,
		 struct err *e)
{
	const struct chat_config *c = &x->config;
	struct buf tools = BUF_MAX(1u << 20);

	x->sent_media = 0;
	x->media_room = CHAT_MEDIA_ROOM;
	json_begin_object(out);
	json_put_text(out, "model", c->model);
	json_put_bool(out, "stream", true);
	if (c->responses) {
		json_put_bool(out, "store", false);
		if (!x->no_encrypted)
			json_put_raw(out, "include",
				     "[\"reasoning.encrypted_content\"]");
		json_put_text(out, "instructions", c->system);
	} else {
		json_put_raw(out, "stream_options", "{\"include_usage\":true}");
	}
	if (c->limits.max_output_tokens > 0)
		json_put_int(out,
			     c->responses ? "max_output_tokens" : "max_tokens",
			     c->limits.max_output_tokens);
	chat_tools_list(x, &tools);
	if (tools.n > 2)
		json_put_raw(out, "tools", tools.p);
	buf_fini(&tools);
	json_put_array(out, c->responses ? "input" : "messages");
	add_history(x, h, out);
	json_end_array(out);
	if (put_params(x, out, e))
		return -1;
	json_end_object(out);
	return buf_ok(out, "the request", e);
}
