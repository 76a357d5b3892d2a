/*
 * Requests of devices, in Hiro's way: a request is an envelope with json content
 * {"method", "params"}, its answer an envelope with {"status", "data"}, which
 * goes out as a delivery on the same conversation.
 */
#include "supervisor/channel/inbound.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/lists.h"
#include "supervisor/channel/delivery_events.h"
#include "supervisor/channel/lookup.h"

#include <stdlib.h>
#include <string.h>

#define HISTORY_MAX   200
#define ANSWER_MAX    (4u << 20)
#define HISTORY_BYTES (3u << 20)   /* of an answer … */
#define TEXT_MAX      (256u << 10) /* … and of one message in it */
#define ESCAPED       6            /* bytes that one may become in JSON */
#define ROW_BYTES     4096         /* what a message has beside its text */
#define WHOLE_MAX     9007199254740992.0

typedef int rpc_method(struct supervisor *s, const char *channel,
		       const cJSON *params, cJSON *data, struct err *e);

static void add_time(cJSON *o, const char *name, int64_t at)
{
	char text[CLOCK_TEXT];

	cJSON_AddStringToObject(o, name, clock_text(at, text));
}

static int channels_list(struct supervisor *s, const char *channel,
			 const cJSON *params, cJSON *data, struct err *e)
{
	struct conversation_filter in = {channel, INT64_MAX, "~", HISTORY_MAX};
	struct lists it;
	cJSON *list = cJSON_AddArrayToObject(data, "channels");
	struct conversation_row row;

	(void)params;
	if (lists_open(&it, s->db, LISTS_CONVERSATIONS, &in, e))
		return -1;
	while (lists_next(&it, &row)) {
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
	return lists_close(&it, e);
}

static void add_message(cJSON *list, const struct history_row *row)
{
	struct err ignored;
	cJSON *body = json_parse("body", row->body, strlen(row->body),
				 &ignored);
	cJSON *o = cJSON_CreateObject();
	char *text = strndup(json_text(body, "text", ""), TEXT_MAX);

	if (!text)
		abort();
	text_end_whole(text);
	cJSON_AddStringToObject(o, "id", row->id);
	cJSON_AddStringToObject(o, "sender_id", row->sender);
	cJSON_AddStringToObject(o, "role", row->role);
	cJSON_AddStringToObject(o, "content_type", "text");
	cJSON_AddStringToObject(o, "body", text);
	if (cJSON_GetObjectItem(body, "attachments"))
		cJSON_AddItemToObject(
			o, "attachments",
			cJSON_DetachItemFromObject(body, "attachments"));
	add_time(o, "ts", row->at);
	cJSON_AddItemToArray(list, o);
	cJSON_Delete(body);
	free(text);
}

/* Hiro's own server takes a number as well. */
static const char *peer_of(const cJSON *params, struct arena *a)
{
	const cJSON *v = cJSON_GetObjectItem(params, "channel_id");

	if (cJSON_IsNumber(v) && v->valuedouble >= 0 &&
	    v->valuedouble < WHOLE_MAX &&
	    v->valuedouble == (double)(int64_t)v->valuedouble)
		return arena_printf(a, "%lld", (long long)v->valuedouble);
	return json_text(params, "channel_id", "");
}

static int read_after(struct supervisor *s, const cJSON *params, int64_t *at,
		      struct err *e)
{
	const cJSON *v = cJSON_GetObjectItem(params, "after");
	struct history_after_in in = {json_text(params, "after", "")};
	struct history_after_row row = {OPT_NONE};

	*at = OPT_NONE;
	if (!v || cJSON_IsNull(v))
		return 0;
	if (sql_get(s->db, Q_HISTORY_AFTER, &in, &row, NULL, e) < 0)
		return -1;
	*at = row.at;
	return row.at == OPT_NONE
		       ? err_set(e, ERR_INVALID,
				 "after must be a time in ISO 8601 format")
		       : 0;
}

/* As many as fit into an answer; `truncated` says that there are more. */
static int add_history(struct supervisor *s, const struct history_filter *in,
		       cJSON *data, struct err *e)
{
	struct sql_rows it = sql_rows(s->db,
				      in->after == OPT_NONE
					      ? Q_CONVERSATION_HISTORY
					      : Q_CONVERSATION_HISTORY_AFTER,
				      in);
	cJSON *list = cJSON_AddArrayToObject(data, "messages");
	struct history_row row;
	size_t room = HISTORY_BYTES;

	while (sql_next(&it, &row)) {
		size_t n = strlen(row.body);

		n = ROW_BYTES +
		    (n < TEXT_MAX * ESCAPED ? n : TEXT_MAX * ESCAPED);
		if (n > room) {
			cJSON_AddTrueToObject(data, "truncated");
			break;
		}
		room -= n;
		add_message(list, &row);
	}
	return sql_end(&it, e);
}

static int messages_history(struct supervisor *s, const char *channel,
			    const cJSON *params, cJSON *data, struct err *e)
{
	int64_t limit = json_i64(params, "limit", 50);
	struct arena a = {0};
	struct history_filter in = {
		.channel = channel,
		.peer = peer_of(params, &a),
		.count = limit < 1             ? 1
			 : limit > HISTORY_MAX ? HISTORY_MAX
					       : limit,
	};
	int rc;

	if (!in.peer[0])
		rc = err_set(e, ERR_INVALID,
			     "params must have a channel_id, a string or "
			     "a whole number");
	else
		rc = read_after(s, params, &in.after, e) ||
				     add_history(s, &in, data, e)
			     ? -1
			     : 0;
	arena_fini(&a);
	return rc;
}

static const struct {
	const char *name;
	rpc_method *call;
} methods[] = {
	{"channels.list", channels_list},
	{"messages.history", messages_history},
};

static void add_rpc_error(cJSON *answer, const char *code, const char *text)
{
	cJSON *error;

	cJSON_AddStringToObject(answer, "status", "error");
	error = cJSON_AddObjectToObject(answer, "error");
	cJSON_AddStringToObject(error, "code", code);
	cJSON_AddStringToObject(error, "message", text);
}

static void call(struct supervisor *s, const char *channel, const cJSON *req,
		 cJSON *answer)
{
	const char *name = json_text(req, "method", "");
	cJSON *data;
	struct err e;

	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if (strcmp(methods[i].name, name) != 0)
			continue;
		data = cJSON_CreateObject();
		if (methods[i].call(s, channel,
				    cJSON_GetObjectItem(req, "params"), data,
				    &e)) {
			cJSON_Delete(data);
			add_rpc_error(answer,
				      e.code == ERR_INVALID ? "invalid_params"
							    : "internal",
				      e.text);
			return;
		}
		cJSON_AddStringToObject(answer, "status", "ok");
		cJSON_AddItemToObject(answer, "data", data);
		return;
	}
	add_rpc_error(answer, "method_not_found", "Unknown method");
}

int device_rpc_answer(struct supervisor *s, const char *channel,
		      const char *conversation, const struct inbound_message *m,
		      struct err *e)
{
	const char *text = json_text(m->body, "text", "");
	cJSON *req = json_parse("request", text, strlen(text), e);
	cJSON *body = cJSON_CreateObject(), *answer;
	struct buf out = BUF_MAX(ANSWER_MAX);
	struct delivery_new d = {.channel = channel,
				 .conversation = conversation,
				 .reply_to = m->external_id};
	struct arena a = {0};
	int64_t now = clock_now();
	struct id id;
	int rc;

	cJSON_AddStringToObject(body, "request_id", m->request);
	answer = cJSON_AddObjectToObject(body, "json");
	if (req)
		call(s, channel, req, answer);
	else
		add_rpc_error(answer, "invalid_request", e->text);
	json_add(&out, body);
	d.body = out.p;
	rc = buf_ok(&out, "the answer", e);
	if (rc == 0)
		rc = channel_fill(s, &d, &a, e) ||
				     delivery_add(s->db, &d, now, &id, e) < 0 ||
				     delivery_event_new(s, &d, id.text, now, e)
			     ? -1
			     : 0;
	channel_hint_due(s, channel);
	arena_fini(&a);
	cJSON_Delete(req);
	cJSON_Delete(body);
	buf_fini(&out);
	return rc;
}
