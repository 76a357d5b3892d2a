/* Answers of the Responses API. */
#include "worker/driver/chat/turn.h"

#include <stdio.h>
#include <string.h>

static bool is_type(const cJSON *v, const char *type)
{
	return strcmp(json_text(v, "type", ""), type) == 0;
}

/* A reasoning item is sent back unchanged, before the same call. */
static void keep_item(struct chat_turn *t, const cJSON *item, int before)
{
	cJSON *kept = cJSON_CreateObject();

	if (!t->items)
		t->items = cJSON_CreateArray();
	cJSON_AddNumberToObject(kept, "before", before);
	cJSON_AddItemToObject(kept, "item", cJSON_Duplicate(item, true));
	cJSON_AddItemToArray(t->items, kept);
}

static int call_of_item(const struct chat_turn *t, const char *id)
{
	for (int i = 0; i < t->ncalls; i++)
		if (id[0] && strcmp(t->calls[i].item, id) == 0)
			return i;
	return -1;
}

/* The call of an item, which arrives when it begins and when it is complete.
 * Without ids it is the one that is not complete. -1: it is new. */
static int find_call(const struct chat_turn *t, const cJSON *item)
{
	const char *id = json_text(item, "call_id", "");
	const char *own = json_text(item, "id", "");
	int i = id[0] ? chat_turn_call_by_id(t, id, -1) : -1;

	if (i < 0)
		i = call_of_item(t, own);
	for (int k = 0; k < t->ncalls && i < 0 && !id[0] && !own[0]; k++)
		if (!t->calls[k].done && !t->calls[k].id[0] &&
		    !t->calls[k].item[0])
			i = k;
	return i;
}

/* The complete arguments replace those that were streamed. */
static int take_args(struct chat_turn *t, int i, const cJSON *args,
		     struct err *e)
{
	struct buf *streamed = &t->calls[i].args;

	if (streamed->n == 0)
		return chat_turn_add_args(t, i, args, e);
	if (!cJSON_IsString(args) || !args->valuestring[0])
		return 0;
	buf_clear(streamed);
	if (buf_adds(streamed, args->valuestring))
		return err_set(e, ERR_TOOBIG,
			       "the model's response is longer than %zu "
			       "bytes",
			       streamed->max);
	return 0;
}

static int take_call(struct chat_turn *t, const cJSON *item, bool done,
		     struct err *e)
{
	int i = find_call(t, item);
	struct chat_call *c;

	if (i < 0)
		i = chat_turn_new_call(t, -1, e);
	if (i < 0)
		return -1;
	c = &t->calls[i];
	if (chat_turn_store_item(c->id, sizeof c->id, "the id of a call",
				 json_text(item, "call_id", c->id), e) ||
	    chat_turn_store_item(c->item, sizeof c->item, "the id of an item",
				 json_text(item, "id", c->item), e) ||
	    chat_turn_store_item(c->name, sizeof c->name, "the name of a tool",
				 json_text(item, "name", ""), e))
		return -1;
	c->done = done;
	return take_args(t, i, json_member(item, "arguments"), e);
}

/* Summaries, or the reasoning itself if the server sends it. */
static int take_thoughts(struct chat_turn *t, const cJSON *item, struct err *e)
{
	if (t->reasoning.n > 0)
		return 0; /* it was streamed */
	return chat_turn_text(t, CHAT_REASONING, json_member(item, "summary"),
			      e) ||
			       chat_turn_text(t, CHAT_REASONING,
					      json_member(item, "content"), e)
		       ? -1
		       : 0;
}

/* The items of an answer that was not streamed, or only partly. */
static int take_output(struct chat_turn *t, const cJSON *output, struct err *e)
{
	bool text = t->think.state != THINK_START, calls = t->ncalls > 0;
	bool items = t->items;
	const cJSON *item;
	int rc = 0, before = 0;

	cJSON_ArrayForEach(item, output)
	{
		if (is_type(item, "reasoning") && !items)
			keep_item(t, item, before);
		if (is_type(item, "reasoning"))
			rc |= take_thoughts(t, item, e);
		else if (is_type(item, "message") && !text)
			rc |= chat_turn_text(t, CHAT_TEXT,
					     json_member(item, "content"), e);
		else if (is_type(item, "function_call") && !calls)
			rc |= take_call(t, item, true, e);
		before += is_type(item, "function_call");
		if (rc)
			return -1;
	}
	return 0;
}

int chat_turn_response(struct chat_turn *t, const cJSON *r, struct err *e)
{
	const cJSON *why = json_member(r, "incomplete_details");
	const cJSON *error = json_member(r, "error");

	if (json_text(r, "model", NULL))
		snprintf(t->model, sizeof t->model, "%s",
			 json_text(r, "model", ""));
	chat_turn_usage(t, json_member(r, "usage"));
	if (cJSON_IsObject(error))
		chat_turn_error(t, error);
	chat_turn_finish(t, json_text(why, "reason", ""));
	if (!t->finish[0] &&
	    strcmp(json_text(r, "status", ""), "completed") == 0)
		chat_turn_finish(t, "stop");
	return take_output(t, json_member(r, "output"), e);
}

/* The text of a message arrives in deltas, or only at its end. */
static int take_item(struct chat_turn *t, const cJSON *item, bool done,
		     struct err *e)
{
	bool streamed = t->streamed;

	if (is_type(item, "function_call"))
		return take_call(t, item, done, e);
	if (!done)
		return 0;
	if (is_type(item, "message")) {
		t->streamed = false;
		return streamed ? 0
				: chat_turn_text(t, CHAT_TEXT,
						 json_member(item, "content"),
						 e);
	}
	if (!is_type(item, "reasoning"))
		return 0;
	keep_item(t, item, t->ncalls);
	return take_thoughts(t, item, e);
}

/* Pieces without the id of an item belong to the last call. */
static int take_args_delta(struct chat_turn *t, const cJSON *v, struct err *e)
{
	int i = call_of_item(t, json_text(v, "item_id", ""));

	if (i < 0)
		i = t->ncalls - 1;
	return i < 0 ? 0 : chat_turn_add_args(t, i, json_member(v, "delta"), e);
}

static int take_delta(struct chat_turn *t, const char *type, const cJSON *v,
		      struct err *e)
{
	const cJSON *delta = json_member(v, "delta");

	if (strcmp(type, "response.refusal.delta") == 0)
		chat_turn_finish(t, "refusal");
	if (strcmp(type, "response.refusal.delta") == 0 ||
	    strcmp(type, "response.output_text.delta") == 0) {
		t->streamed = true;
		return chat_turn_text(t, CHAT_TEXT, delta, e);
	}
	if (strncmp(type, "response.reasoning", 18) == 0)
		return chat_turn_text(t, CHAT_REASONING, delta, e);
	if (strcmp(type, "response.function_call_arguments.delta") == 0)
		return take_args_delta(t, v, e);
	return 0;
}

int chat_turn_typed(struct chat_turn *t, const char *type, const cJSON *v,
		    struct err *e)
{
	const cJSON *response = json_member(v, "response");
	bool done = strcmp(type, "response.output_item.done") == 0;

	if (strstr(type, ".delta"))
		return take_delta(t, type, v, e);
	if (done || strcmp(type, "response.output_item.added") == 0)
		return take_item(t, json_member(v, "item"), done, e);
	if (strcmp(type, "error") == 0)
		chat_turn_error(t, v);
	if (!cJSON_IsObject(response))
		return 0;
	t->over = strcmp(type, "response.completed") == 0 ||
		  strcmp(type, "response.incomplete") == 0 ||
		  strcmp(type, "response.failed") == 0;
	return t->over ? chat_turn_response(t, response, e) : 0;
}
