#include "worker/chat.h"

#include <inttypes.h>
#include <string.h>

#define UNKNOWN "The tool was interrupted; nobody knows whether it was done."

static void add_text(struct buf *b, const char *name, const char *text)
{
	buf_addf(b, "%s\"%s\":", b->p[b->n - 1] == '{' ? "" : ",", name);
	json_add_string(b, text, strlen(text));
}

static void comma(struct buf *b)
{
	if (b->p[b->n - 1] != '[')
		buf_addc(b, ',');
}

static void add_message(struct buf *b, const char *role, const char *text)
{
	comma(b);
	buf_addc(b, '{');
	add_text(b, "role", role);
	add_text(b, "content", text);
	buf_addc(b, '}');
}

/* --- chat completions --------------------------------------------------- */

static void add_assistant(struct buf *b, const struct chat_item *it)
{
	comma(b);
	buf_addc(b, '{');
	add_text(b, "role", "assistant");
	if (it->text[0] || it->ncalls == 0)
		add_text(b, "content", it->text);
	else
		buf_adds(b, ",\"content\":null");
	if (it->ncalls > 0)
		buf_adds(b, ",\"tool_calls\":[");
	for (int i = 0; i < it->ncalls; i++) {
		comma(b);
		buf_addc(b, '{');
		add_text(b, "id", it->calls[i].id);
		buf_adds(b, ",\"type\":\"function\",\"function\":{");
		add_text(b, "name", it->calls[i].name);
		add_text(b, "arguments", it->calls[i].input);
		buf_adds(b, "}}");
	}
	buf_adds(b, it->ncalls > 0 ? "]}" : "}");
	for (int i = 0; i < it->ncalls; i++) {
		const char *text = it->calls[i].output;

		buf_adds(b, ",{");
		add_text(b, "role", "tool");
		add_text(b, "tool_call_id", it->calls[i].id);
		add_text(b, "content", text ? text : UNKNOWN);
		buf_addc(b, '}');
	}
}

/* --- the Responses API --------------------------------------------------- */

static void add_items(struct buf *b, const struct chat_item *it)
{
	if (it->text[0] || it->ncalls == 0)
		add_message(b, "assistant", it->text);
	for (int i = 0; i < it->ncalls; i++) {
		const struct chat_past_call *c = &it->calls[i];

		comma(b);
		buf_addc(b, '{');
		add_text(b, "type", "function_call");
		add_text(b, "call_id", c->id);
		add_text(b, "name", c->name);
		add_text(b, "arguments", c->input);
		buf_adds(b, "},{");
		add_text(b, "type", "function_call_output");
		add_text(b, "call_id", c->id);
		add_text(b, "output", c->output ? c->output : UNKNOWN);
		buf_addc(b, '}');
	}
}

/* --- both ---------------------------------------------------------------- */

static void add_history(const struct chat *x, const struct chat_history *h,
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
			add_message(b, "user", h->items[i].text);
		else if (x->config.responses)
			add_items(b, &h->items[i]);
		else
			add_assistant(b, &h->items[i]);
	}
}

/* Members that are ours stay ours. */
static int add_params(const struct chat *x, struct buf *b, struct err *e)
{
	static const char *const ours[] = {"model", "stream", "messages",
					   "input", "tools",  "instructions"};
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
		if (i < sizeof ours / sizeof *ours)
			continue;
		buf_addc(b, ',');
		json_add_string(b, m->string, strlen(m->string));
		buf_addc(b, ':');
		json_add(b, m);
	}
	cJSON_Delete(v);
	return 0;
}

int chat_request(const struct chat *x, const struct chat_history *h,
		 struct buf *out, struct err *e)
{
	const struct chat_config *c = &x->config;
	struct buf tools = BUF_MAX(1u << 20);

	buf_addc(out, '{');
	add_text(out, "model", c->model);
	buf_adds(out, ",\"stream\":true");
	if (c->responses) {
		buf_adds(out, ",\"store\":false");
		if (c->system)
			add_text(out, "instructions", c->system);
	} else {
		buf_adds(out, ",\"stream_options\":{\"include_usage\":true}");
	}
	if (c->limits.max_output_tokens > 0)
		buf_addf(out, ",\"%s\":%" PRId64,
			 c->responses ? "max_output_tokens" : "max_tokens",
			 c->limits.max_output_tokens);
	chat_tools_list(x, &tools);
	if (tools.n > 2)
		buf_addf(out, ",\"tools\":%s", tools.p);
	buf_fini(&tools);
	buf_addf(out, ",\"%s\":[", c->responses ? "input" : "messages");
	add_history(x, h, out);
	buf_addc(out, ']');
	if (add_params(x, out, e))
		return -1;
	buf_addc(out, '}');
	return buf_ok(out, "the request", e);
}
