#include "worker/driver/chat/turn.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_TEXT 2000

void chat_turn_init(struct chat_turn *t)
{
	*t = (struct chat_turn){0};
	buf_init(&t->text, CHAT_TEXT_MAX);
	buf_init(&t->reasoning, CHAT_TEXT_MAX);
	buf_init(&t->error, 4096);
	for (int i = 0; i < CHAT_CALLS; i++)
		buf_init(&t->calls[i].args, CHAT_ARGS_MAX);
}

void chat_turn_fini(struct chat_turn *t)
{
	buf_fini(&t->text);
	buf_fini(&t->reasoning);
	buf_fini(&t->error);
	for (int i = 0; i < CHAT_CALLS; i++) {
		buf_fini(&t->calls[i].args);
		cJSON_Delete(t->calls[i].extra);
	}
	for (int i = 0; i < t->ndetails; i++) {
		cJSON_Delete(t->details[i].v);
		buf_fini(&t->details[i].text);
	}
	free(t->details);
	cJSON_Delete(t->items);
	cJSON_Delete(t->extra);
}

static void copy_bounded(char *to, size_t cap, const char *text)
{
	if (text != to)
		snprintf(to, cap, "%s", text);
}

static int grow(struct chat_turn *t, enum chat_grows what, int call,
		const char *text, size_t n, struct err *e)
{
	struct buf *b = what == CHAT_TEXT        ? &t->text
			: what == CHAT_REASONING ? &t->reasoning
						 : &t->calls[call].args;

	if (n > 0 && buf_add(b, text, n))
		return err_set(e, ERR_TOOBIG,
			       "the model's response is longer than %zu "
			       "bytes",
			       b->max);
	if ((n == 0 && what != CHAT_CALL) || !t->grew)
		return 0;
	return t->grew(t->arg, what, call, text, n, e);
}

/* There was only a closing tag: the text before it becomes reasoning. */
static int text_was_reasoning(struct chat_turn *t, struct err *e)
{
	if (t->text.n > 0 && buf_add(&t->reasoning, t->text.p, t->text.n))
		return err_set(e, ERR_TOOBIG,
			       "the model's response is longer than %zu "
			       "bytes",
			       t->reasoning.max);
	buf_clear(&t->text);
	return t->grew ? t->grew(t->arg, CHAT_THOUGHT, -1, "", 0, e) : 0;
}

static int grow_thought(void *arg, enum chat_think_kind what, const char *text,
			size_t n, struct err *e)
{
	struct chat_turn *t = arg;

	if (what != THINK_OUT_TEXT && !t->field)
		t->field = t->think.tag->open;
	if (what == THINK_IS_REASONING)
		return text_was_reasoning(t, e);
	return grow(t, what == THINK_OUT_TEXT ? CHAT_TEXT : CHAT_REASONING, -1,
		    text, n, e);
}

/* The text may begin with reasoning. */
static int grow_text(struct chat_turn *t, enum chat_grows what,
		     const char *text, struct err *e)
{
	if (what == CHAT_TEXT)
		return chat_think_feed(&t->think, text, strlen(text),
				       grow_thought, t, e);
	return grow(t, what, -1, text, strlen(text), e);
}

/* Servers use several words for the same reason. A refusal is not overwritten
 * by a later reason. */
void chat_turn_finish(struct chat_turn *t, const char *word)
{
	static const char *const words[][2] = {
		{"content_filter", "refusal"},
		{"safety", "refusal"},
		{"prohibited_content", "refusal"},
		{"blocklist", "refusal"},
		{"spii", "refusal"},
		{"recitation", "refusal"},
		{"max_tokens", "length"},
		{"max_output_tokens", "length"},
	};

	if (!word[0] || strcmp(t->finish, "refusal") == 0)
		return;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(words[i][0], word) == 0)
			word = words[i][1];
	copy_bounded(t->finish, sizeof t->finish, word);
}

/* --- calls ------------------------------------------------------------- */

int chat_turn_new_call(struct chat_turn *t, int64_t index, struct err *e)
{
	if (t->ncalls == CHAT_CALLS)
		return err_set(e, ERR_TOOBIG,
			       "the model called more than %d tools at once",
			       CHAT_CALLS);
	t->calls[t->ncalls].index = index;
	return t->ncalls++;
}

static int by_index(const struct chat_turn *t, int64_t index)
{
	for (int i = t->ncalls - 1; i >= 0; i--)
		if (t->calls[i].index == index)
			return i;
	return -1;
}

int chat_turn_call_by_id(const struct chat_turn *t, const char *id,
			 int64_t index)
{
	for (int i = 0; i < t->ncalls; i++)
		if (strcmp(t->calls[i].id, id) == 0 &&
		    (index < 0 || t->calls[i].index == index))
			return i;
	return -1;
}

/* Finds the call of a piece. Some servers count every call as 0 and use ids;
 * some give every call the same id and count them; some do neither, and a name
 * begins the next call. */
static int call_of(struct chat_turn *t, const cJSON *d, const char *id,
		   const char *name, struct err *e)
{
	const cJSON *index = json_member(d, "index");
	int64_t at = cJSON_IsNumber(index) ? (int64_t)index->valuedouble : -1;
	int i = id[0] ? chat_turn_call_by_id(t, id, at) : -1;

	if (i >= 0)
		return i;
	i = t->ncalls - 1;
	if (at >= 0)
		i = by_index(t, at);
	if (i < 0)
		return chat_turn_new_call(t, at, e);
	if (id[0] && t->calls[i].id[0])
		return chat_turn_new_call(t, at, e);
	if (at < 0 && name[0] && t->calls[i].name[0])
		return chat_turn_new_call(t, at, e);
	return i;
}

int chat_turn_store_item(char *to, size_t cap, const char *what,
			 const char *text, struct err *e)
{
	if (text == to)
		return 0;
	if (strlen(text) >= cap)
		return err_set(e, ERR_TOOBIG,
			       "the model's response: %s is longer than %d "
			       "bytes",
			       what, CHAT_NAME - 1);
	copy_bounded(to, cap, text);
	return 0;
}

/* A name in pieces grows until arguments begin; a name that is repeated with
 * every piece does not. */
static int add_name(struct chat_call *c, const char *name, struct err *e)
{
	size_t n = strlen(c->name);

	if (strcmp(c->name, name) == 0 || c->args.n > 0)
		return 0;
	return chat_turn_store_item(c->name + n, sizeof c->name - n,
				    "the name of a tool", name, e);
}

int chat_turn_add_args(struct chat_turn *t, int i, const cJSON *args,
		       struct err *e)
{
	struct buf b = BUF_MAX(CHAT_ARGS_MAX);
	int rc;

	if (cJSON_IsString(args))
		return grow(t, CHAT_CALL, i, args->valuestring,
			    strlen(args->valuestring), e);
	if (!cJSON_IsObject(args) || t->calls[i].whole)
		return grow(t, CHAT_CALL, i, "", 0, e);
	t->calls[i].whole = true;
	buf_clear(&t->calls[i].args);
	json_add(&b, args);
	rc = buf_ok(&b, "arguments", e);
	if (rc == 0)
		rc = grow(t, CHAT_CALL, i, b.p, b.n, e);
	buf_fini(&b);
	return rc;
}

/* Data that must be sent back with the call, or the message. */
static void keep_extra(cJSON **to, const cJSON *from)
{
	const cJSON *extra = json_member(from, "extra_content");

	if (!cJSON_IsObject(extra))
		return;
	cJSON_Delete(*to);
	*to = cJSON_Duplicate(extra, true);
}

/* {"id", "index", "function": {"name", "arguments"}}; or, flat, in some servers
 * and the old form, {"name", "arguments"}. */
static int take_call(struct chat_turn *t, const cJSON *d, struct err *e)
{
	const cJSON *f = json_member(d, "function");
	const char *id = json_text(d, "id", "");
	const char *name = json_text(f ? f : d, "name", "");
	int i = call_of(t, d, id, name, e);

	if (i < 0)
		return -1;
	if (id[0] && !t->calls[i].id[0] &&
	    chat_turn_store_item(t->calls[i].id, sizeof t->calls[i].id,
				 "the id of a call", id, e))
		return -1;
	if (add_name(&t->calls[i], name, e))
		return -1;
	keep_extra(&t->calls[i].extra, d);
	return chat_turn_add_args(t, i, json_member(f ? f : d, "arguments"), e);
}

/* --- messages ---------------------------------------------------------- */

static int take_refusal(struct chat_turn *t, const cJSON *v, struct err *e)
{
	if (!cJSON_IsString(v))
		return 0;
	chat_turn_finish(t, "refusal");
	return grow_text(t, CHAT_TEXT, v->valuestring, e);
}

/* A text, or a list of objects with texts. */
static int take_texts(struct chat_turn *t, enum chat_grows what, const cJSON *v,
		      struct err *e)
{
	const cJSON *part;

	if (cJSON_IsString(v))
		return grow_text(t, what, v->valuestring, e);
	cJSON_ArrayForEach(part, v)
	{
		if (grow_text(t, what, json_text(part, "text", ""), e))
			return -1;
	}
	return 0;
}

/* One part of a message: text, reasoning or a refusal. */
static int take_part(struct chat_turn *t, enum chat_grows what,
		     const cJSON *part, struct err *e)
{
	const cJSON *thought = json_member(part, "thinking");

	if (cJSON_IsString(thought) || cJSON_IsArray(thought)) {
		t->field = CHAT_FIELD_PARTS;
		return take_texts(t, CHAT_REASONING, thought, e);
	}
	if (take_refusal(t, json_member(part, "refusal"), e))
		return -1;
	return grow_text(t, what, json_text(part, "text", ""), e);
}

int chat_turn_text(struct chat_turn *t, enum chat_grows what, const cJSON *v,
		   struct err *e)
{
	const cJSON *part;

	if (what != CHAT_TEXT || !cJSON_IsArray(v))
		return take_texts(t, what, v, e);
	cJSON_ArrayForEach(part, v)
	{
		if (take_part(t, what, part, e))
			return -1;
	}
	return 0;
}

static int take_message(struct chat_turn *t, const cJSON *m, struct err *e)
{
	const cJSON *old = json_member(m, "function_call");
	const cJSON *d;

	keep_extra(&t->extra, m);
	if (chat_turn_reasoning(t, m, e) ||
	    chat_turn_text(t, CHAT_TEXT, json_member(m, "content"), e) ||
	    take_refusal(t, json_member(m, "refusal"), e))
		return -1;
	cJSON_ArrayForEach(d, json_member(m, "tool_calls"))
	{
		if (take_call(t, d, e))
			return -1;
	}
	if (!cJSON_IsObject(old))
		return 0;
	/* the old form has one call without an id: its pieces are one call */
	if (t->ncalls > 0) {
		if (add_name(&t->calls[0], json_text(old, "name", ""), e))
			return -1;
		return chat_turn_add_args(t, 0, json_member(old, "arguments"),
					  e);
	}
	return take_call(t, old, e);
}

void chat_turn_usage(struct chat_turn *t, const cJSON *u)
{
	struct chat_usage *to = &t->usage;
	const cJSON *in = json_member(u, "prompt_tokens_details");
	const cJSON *out = json_member(u, "completion_tokens_details");
	const cJSON *cost = json_member(u, "cost");

	if (!cJSON_IsObject(u))
		return;
	if (!in)
		in = json_member(u, "input_tokens_details");
	if (!out)
		out = json_member(u, "output_tokens_details");
	to->input = json_i64(u, "prompt_tokens",
			     json_i64(u, "input_tokens", to->input));
	to->output = json_i64(u, "completion_tokens",
			      json_i64(u, "output_tokens", to->output));
	to->cached = json_i64(in, "cached_tokens", to->cached);
	to->reasoning = json_i64(out, "reasoning_tokens", to->reasoning);
	if (cJSON_IsNumber(cost) && cost->valuedouble > 0)
		to->cost = cost->valuedouble;
}

void chat_turn_error(struct chat_turn *t, const cJSON *v)
{
	const cJSON *code = json_member(v, "code");
	const char *text = cJSON_IsString(v) ? v->valuestring
					     : json_text(v, "message", NULL);
	char shown[ERROR_TEXT];

	text_fit(shown, sizeof shown, text ? text : "an error without a text");
	buf_clear(&t->error);
	buf_adds(&t->error, shown);
	if (cJSON_IsString(code))
		copy_bounded(t->error_code, sizeof t->error_code,
			     code->valuestring);
	else
		copy_bounded(t->error_code, sizeof t->error_code,
			     json_text(v, "type", ""));
}

/* --- all --------------------------------------------------------------- */

int chat_turn_feed(struct chat_turn *t, const cJSON *v, struct err *e)
{
	const cJSON *choice = cJSON_GetArrayItem(json_member(v, "choices"), 0);
	const cJSON *message = json_member(choice, "delta");
	const cJSON *error = json_member(v, "error");
	const char *type = json_text(v, "type", NULL);
	const char *finish = json_text(choice, "finish_reason", "");

	if (error && !cJSON_IsNull(error))
		chat_turn_error(t, error);
	if (strcmp(json_text(v, "object", ""), "response") == 0)
		return chat_turn_response(t, v, e);
	if (type && !choice)
		return chat_turn_typed(t, type, v, e);
	copy_bounded(t->model, sizeof t->model,
		     json_text(v, "model", t->model));
	chat_turn_usage(t, json_member(v, "usage"));
	if (!cJSON_IsObject(message))
		message = json_member(choice, "message");
	if (cJSON_IsObject(message) && take_message(t, message, e))
		return -1;
	chat_turn_finish(t, finish);
	return 0;
}

/* An answer has been paid for: invalid characters of a server are replaced, and
 * the rest is kept. */
static cJSON *parse_repaired(struct chat_turn *t, const char *data, size_t n,
			     struct err *e)
{
	struct buf b = BUF_MAX(JSON_REPAIR_GROWTH * n + 1);
	size_t replaced = json_repair(data, n, &b);
	cJSON *v = (replaced > 0 || b.n > n) && !b.over
			   ? json_parse_object("the server's stream", b.p, b.n,
					       e)
			   : NULL;

	buf_fini(&b);
	if (v)
		t->replaced += replaced;
	return v;
}

int chat_turn_data(struct chat_turn *t, const char *data, size_t n,
		   struct err *e)
{
	cJSON *v;
	int rc;

	while (n > 0 && strchr(" \t\r\n", data[n - 1]))
		n--;
	if (n == 0 || t->over)
		return 0;
	if (n == 6 && memcmp(data, "[DONE]", 6) == 0) {
		t->over = true;
		return 0;
	}
	v = json_parse_object("the server's stream", data, n, e);
	if (!v)
		v = parse_repaired(t, data, n, e);
	if (!v) {
		e->code = ERR_PROTOCOL;
		return -1;
	}
	rc = chat_turn_feed(t, v, e);
	cJSON_Delete(v);
	return rc;
}

int chat_turn_calls(const struct chat_turn *t)
{
	int n = 0;

	for (int i = 0; i < t->ncalls; i++)
		n += t->calls[i].name[0] != '\0';
	return n;
}

int chat_turn_end(struct chat_turn *t, int64_t turn, struct err *e)
{
	int named = chat_turn_calls(t);
	bool ended = t->finish[0] || t->usage.output > 0;

	if (chat_think_end(&t->think, grow_thought, t, e))
		return -1;
	for (int i = 0; i < t->ncalls; i++)
		if (!t->calls[i].id[0])
			snprintf(t->calls[i].id, sizeof t->calls[i].id,
				 "call_%lld_%d", (long long)turn, i);
	if (strcmp(t->finish, "length") != 0 &&
	    strcmp(t->finish, "refusal") != 0)
		copy_bounded(t->finish, sizeof t->finish,
			     named > 0 ? "tool_calls" : "stop");
	if (t->text.n == 0 && named == 0 && t->reasoning.n == 0 && !ended)
		return err_set(e, ERR_PROTOCOL,
			       "the server's response is empty");
	return 0;
}

/* Some servers encode the arguments twice. */
cJSON *chat_call_args(const struct chat_call *c, struct err *e)
{
	const char *text = c->args.n ? c->args.p : "{}";
	cJSON *v = json_parse("the arguments", text, strlen(text), e), *inner;

	if (cJSON_IsString(v)) {
		inner = json_parse("the arguments", v->valuestring,
				   strlen(v->valuestring), e);
		cJSON_Delete(v);
		v = inner;
	}
	if (v && cJSON_IsNull(v)) {
		cJSON_Delete(v);
		v = cJSON_CreateObject();
	}
	if (v && !cJSON_IsObject(v)) {
		cJSON_Delete(v);
		v = NULL;
		err_set(e, ERR_INVALID, "the arguments are not an object");
	}
	return v;
}
