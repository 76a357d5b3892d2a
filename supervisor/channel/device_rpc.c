/*
 * Requests of devices in Hiro's protocol: a request is an envelope with json
 * content {"method", "params"}. The answer is an envelope with {"status",
 * "data"}, sent as a delivery on the same conversation.
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
#define ESCAPED       6            /* longest JSON encoding of a byte */
#define ROW_BYTES     4096         /* size of a message without its text */
#define WHOLE_MAX     9007199254740992.0

/* Writes the members of the answer's data. */
typedef int rpc_method(struct supervisor *s, const char *channel,
		       const cJSON *params, struct buf *data, struct err *e);

static void put_time(struct buf *b, const char *name, int64_t at)
{
	char text[CLOCK_TEXT];

	json_put_text(b, name, clock_text(at, text));
}

static int channels_list(struct supervisor *s, const char *channel,
			 const cJSON *params, struct buf *data, struct err *e)
{
	struct conversation_filter in = {channel, INT64_MAX, "~", HISTORY_MAX};
	struct lists it;
	struct conversation_row row;

	(void)params;
	if (lists_open(&it, s->db, LISTS_CONVERSATIONS, &in, e))
		return -1;
	json_put_array(data, "channels");
	while (lists_next(&it, &row)) {
		json_begin_object(data);
		json_put_text(data, "id", row.peer);
		json_put_text(data, "name", row.title ? row.title : row.peer);
		json_put_text(data, "type", row.kind);
		json_put_text(data, "agent_id", row.agent ? row.agent : "");
		put_time(data, "created_at", row.created_at);
		put_time(data, "last_message_at", row.last_message_at);
		json_end_object(data);
	}
	json_end_array(data);
	return lists_close(&it, e);
}

static void add_message(struct buf *list, const struct history_row *row)
{
	struct err ignored;
	cJSON *body = json_parse("body", row->body, strlen(row->body),
				 &ignored);
	char *text = strndup(json_text(body, "text", ""), TEXT_MAX);

	if (!text)
		abort();
	text_end_whole(text);
	json_begin_object(list);
	json_put_text(list, "id", row->id);
	json_put_text(list, "sender_id", row->sender);
	json_put_text(list, "role", row->role);
	json_put_text(list, "content_type", "text");
	json_put_text(list, "body", text);
	json_put(list, "attachments", json_member(body, "attachments"));
	put_time(list, "ts", row->at);
	json_end_object(list);
	cJSON_Delete(body);
	free(text);
}

/* Hiro's server accepts a number as well. */
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

/* Adds as many messages as fit into an answer; `truncated`: there are more. */
static int put_history(struct supervisor *s, const struct history_filter *in,
		       struct buf *data, struct err *e)
{
	struct sql_rows it = sql_rows(s->db,
				      in->after == OPT_NONE
					      ? Q_CONVERSATION_HISTORY
					      : Q_CONVERSATION_HISTORY_AFTER,
				      in);
	struct history_row row;
	size_t room = HISTORY_BYTES;
	bool truncated = false;

	json_put_array(data, "messages");
	while (sql_next(&it, &row)) {
		size_t n = strlen(row.body);

		n = ROW_BYTES +
		    (n < TEXT_MAX * ESCAPED ? n : TEXT_MAX * ESCAPED);
		if (n > room) {
			truncated = true;
			break;
		}
		room -= n;
		add_message(data, &row);
	}
	json_end_array(data);
	if (truncated)
		json_put_bool(data, "truncated", true);
	return sql_end(&it, e);
}

static int messages_history(struct supervisor *s, const char *channel,
			    const cJSON *params, struct buf *data,
			    struct err *e)
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
				     put_history(s, &in, data, e)
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

static void put_error(struct buf *answer, const char *code, const char *text)
{
	json_put_text(answer, "status", "error");
	json_put_object(answer, "error");
	json_put_text(answer, "code", code);
	json_put_text(answer, "message", text);
	json_end_object(answer);
}

static void put_result(struct supervisor *s, const char *channel,
		       rpc_method *method, const cJSON *params,
		       struct buf *answer)
{
	struct buf data = BUF_MAX(ANSWER_MAX);
	struct err e;

	json_begin_object(&data);
	if (method(s, channel, params, &data, &e) ||
	    buf_ok(&data, "the answer", &e)) {
		put_error(answer,
			  e.code == ERR_INVALID ? "invalid_params" : "internal",
			  e.text);
	} else {
		json_end_object(&data);
		json_put_text(answer, "status", "ok");
		json_put_raw(answer, "data", data.p);
	}
	buf_fini(&data);
}

static void call(struct supervisor *s, const char *channel, const cJSON *req,
		 struct buf *answer)
{
	const char *name = json_text(req, "method", "");

	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (strcmp(methods[i].name, name) == 0) {
			put_result(s, channel, methods[i].call,
				   json_member(req, "params"), answer);
			return;
		}
	put_error(answer, "method_not_found", "Unknown method");
}

int device_rpc_answer(struct supervisor *s, const char *channel,
		      const char *conversation, const struct inbound_message *m,
		      struct err *e)
{
	const char *text = json_text(m->body, "text", "");
	cJSON *req = json_parse("request", text, strlen(text), e);
	struct buf out = BUF_MAX(ANSWER_MAX);
	struct delivery_new d = {.channel = channel,
				 .conversation = conversation,
				 .reply_to = m->external_id};
	struct arena a = {0};
	int64_t now = clock_now();
	struct id id;
	int rc;

	json_begin_object(&out);
	json_put_text(&out, "request_id", m->request);
	json_put_object(&out, "json");
	if (req)
		call(s, channel, req, &out);
	else
		put_error(&out, "invalid_request", e->text);
	json_end_object(&out);
	json_end_object(&out);
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
	buf_fini(&out);
	return rc;
}
