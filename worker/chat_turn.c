#include "worker/chat_turn.h"

#include <stdio.h>
#include <string.h>

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
	for (int i = 0; i < CHAT_CALLS; i++)
		buf_fini(&t->calls[i].args);
}

static const cJSON *member(const cJSON *v, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(v, name);
}

static void keep(char *to, size_t cap, const char *text)
{
	snprintf(to, cap, "%s", text);
}

static int grow(struct chat_turn *t, enum chat_grows what, int call,
		const char *text, struct err *e)
{
	size_t n = strlen(text);
	struct buf *b = what == CHAT_TEXT        ? &t->text
			: what == CHAT_REASONING ? &t->reasoning
						 : &t->calls[call].args;

	if (n > 0 && buf_add(b, text, n))
		return err_set(e, ERR_TOOBIG,
			       "the model's answer is over %zu bytes", b->max);
	if ((n == 0 && what != CHAT_CALL) || !t->grew)
		return 0;
	return t->grew(t->arg, what, call, text, n, e);
}

/* --- calls ------------------------------------------------------------- */

static int new_call(struct chat_turn *t, int64_t index, struct err *e)
{
	if (t->ncalls == CHAT_CALLS)
		return err_set(e, ERR_TOOBIG,
			       "the model calls more than %d tools at once",
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

static int by_id(const struct chat_turn *t, const char *id)
{
	for (int i = 0; i < t->ncalls; i++)
		if (strcmp(t->calls[i].id, id) == 0)
			return i;
	return -1;
}

/* Which call a piece belongs to. Some servers count every call as 0 and tell
 * them apart by id; some give neither, and a name begins the next one. */
static int call_of(struct chat_turn *t, const cJSON *d, const char *id,
		   const char *name, struct err *e)
{
	const cJSON *index = member(d, "index");
	int64_t at = cJSON_IsNumber(index) ? (int64_t)index->valuedouble : -1;
	int i = t->ncalls - 1;

	if (id[0] && by_id(t, id) >= 0)
		return by_id(t, id);
	if (at >= 0)
		i = by_index(t, at);
	if (i < 0)
		return new_call(t, at, e);
	if (id[0] && t->calls[i].id[0])
		return new_call(t, at, e);
	if (at < 0 && name[0] && t->calls[i].name[0])
		return new_call(t, at, e);
	return i;
}

/* A name that comes in pieces grows until arguments begin; one that is said
 * again with every piece does not. */
static void add_name(struct chat_call *c, const char *name)
{
	size_t n = strlen(c->name);

	if (strcmp(c->name, name) != 0 && c->args.n == 0)
		keep(c->name + n, sizeof c->name - n, name);
}

static int add_args(struct chat_turn *t, int i, const cJSON *args,
		    struct err *e)
{
	struct buf b = BUF_MAX(CHAT_ARGS_MAX);
	int rc;

	if (cJSON_IsString(args))
		return grow(t, CHAT_CALL, i, args->valuestring, e);
	if (!cJSON_IsObject(args) || t->calls[i].whole)
		return grow(t, CHAT_CALL, i, "", e);
	t->calls[i].whole = true;
	buf_clear(&t->calls[i].args);
	json_add(&b, args);
	rc = buf_ok(&b, "arguments", e);
	if (rc == 0)
		rc = grow(t, CHAT_CALL, i, b.p, e);
	buf_fini(&b);
	return rc;
}

/* {"id", "index", "function": {"name", "arguments"}}; or, flat, as some and the
 * old shape have it, {"name", "arguments"}. */
static int take_call(struct chat_turn *t, const cJSON *d, struct err *e)
{
	const cJSON *f = member(d, "function");
	const char *id = json_text(d, "id", "");
	const char *name = json_text(f ? f : d, "name", "");
	int i = call_of(t, d, id, name, e);

	if (i < 0)
		return -1;
	if (id[0] && !t->calls[i].id[0])
		keep(t->calls[i].id, sizeof t->calls[i].id, id);
	add_name(&t->calls[i], name);
	return add_args(t, i, member(f ? f : d, "arguments"), e);
}

/* --- messages ---------------------------------------------------------- */

/* A text, or a list of parts with texts. */
static int take_text(struct chat_turn *t, enum chat_grows what, const cJSON *v,
		     struct err *e)
{
	const cJSON *part;

	if (cJSON_IsString(v))
		return grow(t, what, -1, v->valuestring, e);
	if (!cJSON_IsArray(v))
		return 0;
	cJSON_ArrayForEach(part, v)
	{
		if (grow(t, what, -1, json_text(part, "text", ""), e))
			return -1;
	}
	return 0;
}

static int take_message(struct chat_turn *t, const cJSON *m, struct err *e)
{
	const cJSON *old = member(m, "function_call");
	const cJSON *d;
	const cJSON *thought = member(m, "reasoning_content");

	if (!cJSON_IsString(thought))
		thought = member(m, "reasoning");
	if (take_text(t, CHAT_REASONING, thought, e) ||
	    take_text(t, CHAT_TEXT, member(m, "content"), e))
		return -1;
	if (cJSON_IsString(member(m, "refusal"))) {
		keep(t->finish, sizeof t->finish, "refusal");
		if (take_text(t, CHAT_TEXT, member(m, "refusal"), e))
			return -1;
	}
	cJSON_ArrayForEach(d, member(m, "tool_calls"))
	{
		if (take_call(t, d, e))
			return -1;
	}
	if (!cJSON_IsObject(old))
		return 0;
	/* the old shape has one call and no id: its pieces are one call */
	if (t->ncalls > 0) {
		add_name(&t->calls[0], json_text(old, "name", ""));
		return add_args(t, 0, member(old, "arguments"), e);
	}
	return take_call(t, old, e);
}

static void take_usage(struct chat_turn *t, const cJSON *u)
{
	struct chat_usage *to = &t->usage;
	const cJSON *in = member(u, "prompt_tokens_details");
	const cJSON *out = member(u, "completion_tokens_details");
	const cJSON *cost = member(u, "cost");

	if (!cJSON_IsObject(u))
		return;
	if (!in)
		in = member(u, "input_tokens_details");
	if (!out)
		out = member(u, "output_tokens_details");
	to->input = json_i64(u, "prompt_tokens",
			     json_i64(u, "input_tokens", to->input));
	to->output = json_i64(u, "completion_tokens",
			      json_i64(u, "output_tokens", to->output));
	to->cached = json_i64(in, "cached_tokens", to->cached);
	to->reasoning = json_i64(out, "reasoning_tokens", to->reasoning);
	if (cJSON_IsNumber(cost) && cost->valuedouble > 0)
		to->cost = cost->valuedouble;
}

static void take_error(struct chat_turn *t, const cJSON *v)
{
	const cJSON *code = member(v, "code");
	const char *text = cJSON_IsString(v) ? v->valuestring
					     : json_text(v, "message", NULL);

	buf_clear(&t->error);
	buf_addf(&t->error, "%.2000s", text ? text : "an error without a text");
	if (cJSON_IsString(code))
		keep(t->error_code, sizeof t->error_code, code->valuestring);
	else
		keep(t->error_code, sizeof t->error_code,
		     json_text(v, "type", ""));
}

/* --- the Responses API ------------------------------------------------- */

static int take_item(struct chat_turn *t, const cJSON *item, struct err *e)
{
	const char *type = json_text(item, "type", "");
	const char *id = json_text(item, "call_id", "");
	int i;

	if (strcmp(type, "message") == 0)
		return take_text(t, CHAT_TEXT, member(item, "content"), e);
	if (strcmp(type, "reasoning") == 0)
		return take_text(t, CHAT_REASONING, member(item, "summary"), e);
	if (strcmp(type, "function_call") != 0)
		return 0;
	i = id[0] ? by_id(t, id) : -1;
	if (i < 0)
		i = new_call(t, -1, e);
	if (i < 0)
		return -1;
	keep(t->calls[i].id, sizeof t->calls[i].id, id);
	keep(t->calls[i].name, sizeof t->calls[i].name,
	     json_text(item, "name", ""));
	if (t->calls[i].args.n > 0)
		return 0; /* it was streamed */
	return add_args(t, i, member(item, "arguments"), e);
}

static int take_response(struct chat_turn *t, const cJSON *r, struct err *e)
{
	const cJSON *why = member(r, "incomplete_details");
	const cJSON *error = member(r, "error");
	const cJSON *item;

	keep(t->model, sizeof t->model, json_text(r, "model", t->model));
	take_usage(t, member(r, "usage"));
	if (cJSON_IsObject(error))
		take_error(t, error);
	if (strcmp(json_text(why, "reason", ""), "max_output_tokens") == 0)
		keep(t->finish, sizeof t->finish, "length");
	if (t->text.n == 0 && t->ncalls == 0) {
		cJSON_ArrayForEach(item, member(r, "output"))
		{
			if (take_item(t, item, e))
				return -1;
		}
	}
	return 0;
}

static int take_typed(struct chat_turn *t, const char *type, const cJSON *v,
		      struct err *e)
{
	const cJSON *response = member(v, "response");

	if (strcmp(type, "response.output_text.delta") == 0 ||
	    strcmp(type, "response.refusal.delta") == 0)
		return take_text(t, CHAT_TEXT, member(v, "delta"), e);
	if (strncmp(type, "response.reasoning", 18) == 0 &&
	    strstr(type, ".delta"))
		return take_text(t, CHAT_REASONING, member(v, "delta"), e);
	if (strcmp(type, "response.output_item.added") == 0 &&
	    strcmp(json_text(member(v, "item"), "type", ""), "function_call") ==
		    0)
		return take_item(t, member(v, "item"), e);
	if (strcmp(type, "response.function_call_arguments.delta") == 0 &&
	    t->ncalls > 0)
		return add_args(t, t->ncalls - 1, member(v, "delta"), e);
	if (strcmp(type, "response.output_item.done") == 0 &&
	    strcmp(json_text(member(v, "item"), "type", ""), "function_call") ==
		    0)
		return take_item(t, member(v, "item"), e);
	if (strcmp(type, "error") == 0)
		take_error(t, v);
	if (!cJSON_IsObject(response))
		return 0;
	t->over = strcmp(type, "response.completed") == 0 ||
		  strcmp(type, "response.incomplete") == 0 ||
		  strcmp(type, "response.failed") == 0;
	return t->over ? take_response(t, response, e) : 0;
}

/* --- all --------------------------------------------------------------- */

int chat_turn_feed(struct chat_turn *t, const cJSON *v, struct err *e)
{
	const cJSON *choice = cJSON_GetArrayItem(member(v, "choices"), 0);
	const cJSON *message = member(choice, "delta");
	const cJSON *error = member(v, "error");
	const char *type = json_text(v, "type", NULL);
	const char *finish = json_text(choice, "finish_reason", "");

	if (error && !cJSON_IsNull(error))
		take_error(t, error);
	if (strcmp(json_text(v, "object", ""), "response") == 0)
		return take_response(t, v, e);
	if (type && !choice)
		return take_typed(t, type, v, e);
	keep(t->model, sizeof t->model, json_text(v, "model", t->model));
	take_usage(t, member(v, "usage"));
	if (!cJSON_IsObject(message))
		message = member(choice, "message");
	if (cJSON_IsObject(message) && take_message(t, message, e))
		return -1;
	if (finish[0] && strcmp(t->finish, "refusal") != 0)
		keep(t->finish, sizeof t->finish, finish);
	return 0;
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

	for (int i = 0; i < t->ncalls; i++)
		if (!t->calls[i].id[0])
			snprintf(t->calls[i].id, sizeof t->calls[i].id,
				 "call_%lld_%d", (long long)turn, i);
	if (strcmp(t->finish, "content_filter") == 0)
		keep(t->finish, sizeof t->finish, "refusal");
	else if (named > 0 && strcmp(t->finish, "length") != 0)
		keep(t->finish, sizeof t->finish, "tool_calls");
	else if (strcmp(t->finish, "length") != 0 &&
		 strcmp(t->finish, "refusal") != 0)
		keep(t->finish, sizeof t->finish, "stop");
	if (t->text.n == 0 && named == 0 && t->reasoning.n == 0 &&
	    strcmp(t->finish, "stop") == 0 && t->usage.output == 0)
		return err_set(e, ERR_PROTOCOL,
			       "the server's answer has nothing in it");
	return 0;
}

/* Some encode the arguments twice. */
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
