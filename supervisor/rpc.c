/*
 * Requests of devices, in Hiro's way: a request is an envelope with json content
 * {"method", "params"}, its answer an envelope with {"status", "data"}, which
 * goes out as a delivery on the same conversation.
 */
#include "supervisor/inbound.h"

#include "base/clock.h"
#include "supervisor/channel_way.h"
#include "supervisor/parcel_tell.h"

#include <string.h>

#define HISTORY_MAX 200

typedef int rpc_method(struct sup *s, const char *channel, const cJSON *params,
		       cJSON *data, struct err *e);

static void add_time(cJSON *o, const char *name, int64_t at)
{
	char text[CLOCK_TEXT];

	cJSON_AddStringToObject(o, name, clock_text(at, text));
}

static int channels_list(struct sup *s, const char *channel,
			 const cJSON *params, cJSON *data, struct err *e)
{
	struct conversation_list_in in = {channel, INT64_MAX, "~", HISTORY_MAX};
	struct sql_rows it = sql_rows(s->db, Q_CONVERSATION_LIST, &in);
	cJSON *list = cJSON_AddArrayToObject(data, "channels");
	struct conversation_row row;

	(void)params;
	while (sql_next(&it, &row)) {
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "id", row.peer);
		cJSON_AddStringToObject(o, "name",
					row.title ? row.title : row.peer);
		cJSON_AddStringToObject(o, "type", row.kind);
		cJSON_AddStringToObject(o, "agent_id",
					row.agent ? row.agent : "");
		add_time(o, "created_at", row.created_at);
		add_time(o, "last_message_at", row.last_message_at);
		cJSON_AddItemToArray(list, o);
	}
	return sql_end(&it, e);
}

static void add_message(cJSON *list, const struct conversation_history_row *row)
{
	struct err ignored;
	cJSON *body = json_parse("body", row->body, strlen(row->body),
				 &ignored);
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "id", row->id);
	cJSON_AddStringToObject(o, "sender_id", row->sender);
	cJSON_AddStringToObject(o, "role", row->role);
	cJSON_AddStringToObject(o, "content_type", "text");
	cJSON_AddStringToObject(o, "body", json_text(body, "text", ""));
	if (cJSON_GetObjectItem(body, "attachments"))
		cJSON_AddItemToObject(
			o, "attachments",
			cJSON_DetachItemFromObject(body, "attachments"));
	add_time(o, "ts", row->at);
	cJSON_AddItemToArray(list, o);
	cJSON_Delete(body);
}

static int messages_history(struct sup *s, const char *channel,
			    const cJSON *params, cJSON *data, struct err *e)
{
	int64_t limit = json_i64(params, "limit", 50);
	struct conversation_history_in in = {
		.channel = channel,
		.peer = json_text(params, "channel_id", ""),
		.count = limit < 1             ? 1
			 : limit > HISTORY_MAX ? HISTORY_MAX
					       : limit,
	};
	struct conversation_history_row row;
	struct sql_rows it;
	cJSON *list;

	if (!in.peer[0])
		return err_set(e, ERR_INVALID, "params need a channel_id");
	it = sql_rows(s->db, Q_CONVERSATION_HISTORY, &in);
	list = cJSON_AddArrayToObject(data, "messages");
	while (sql_next(&it, &row))
		add_message(list, &row);
	return sql_end(&it, e);
}

static const struct {
	const char *name;
	rpc_method *call;
} methods[] = {
	{"channels.list", channels_list},
	{"messages.history", messages_history},
};

static void refuse(cJSON *answer, const char *code, const char *text)
{
	cJSON *error;

	cJSON_AddStringToObject(answer, "status", "error");
	error = cJSON_AddObjectToObject(answer, "error");
	cJSON_AddStringToObject(error, "code", code);
	cJSON_AddStringToObject(error, "message", text);
}

static void call(struct sup *s, const char *channel, const cJSON *ask,
		 cJSON *answer)
{
	const char *name = json_text(ask, "method", "");
	cJSON *data;
	struct err e;

	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if (strcmp(methods[i].name, name) != 0)
			continue;
		data = cJSON_CreateObject();
		if (methods[i].call(s, channel,
				    cJSON_GetObjectItem(ask, "params"), data,
				    &e)) {
			cJSON_Delete(data);
			refuse(answer,
			       e.code == ERR_INVALID ? "invalid_params"
						     : "internal",
			       e.text);
			return;
		}
		cJSON_AddStringToObject(answer, "status", "ok");
		cJSON_AddItemToObject(answer, "data", data);
		return;
	}
	refuse(answer, "method_not_found", "Unknown method");
}

int rpc_answer(struct sup *s, const char *channel, const char *conversation,
	       const struct arrival *m, struct err *e)
{
	const char *text = json_text(m->body, "text", "");
	cJSON *ask = json_parse("request", text, strlen(text), e);
	cJSON *body = cJSON_CreateObject(), *answer;
	struct buf out = BUF_MAX(4u << 20);
	struct delivery_new d = {.channel = channel,
				 .conversation = conversation,
				 .reply_to = m->external_id};
	struct arena a = {0};
	int64_t now = clock_now();
	struct id id;
	int rc;

	cJSON_AddStringToObject(body, "request_id", m->request);
	answer = cJSON_AddObjectToObject(body, "json");
	if (ask)
		call(s, channel, ask, answer);
	else
		refuse(answer, "invalid_request", e->text);
	json_add(&out, body);
	d.body = out.p;
	rc = buf_ok(&out, "the answer", e);
	if (rc == 0)
		rc = channel_fill(s, &d, &a, e) ||
				     delivery_add(s->db, &d, now, &id, e) < 0 ||
				     parcel_tell_new(s, &d, id.text, now, e)
			     ? -1
			     : 0;
	channel_look(s, channel);
	arena_fini(&a);
	cJSON_Delete(ask);
	cJSON_Delete(body);
	buf_fini(&out);
	return rc;
}
