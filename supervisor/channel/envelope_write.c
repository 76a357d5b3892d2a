#include "supervisor/channel/envelope.h"

#include "lib/base/clock.h"
#include "lib/json/base64.h"
#include "schema/control/channel/attachment.h"
#include "supervisor/channel/attachments.h"

#include <string.h>

/* larger attachments are passed to plugins as files */
#define INLINE_MAX (256 << 10)

static void put_time(struct buf *b, const char *name, int64_t at)
{
	char text[CLOCK_TEXT];

	json_put_text(b, name, clock_text(at, text));
}

/* --- attachments ------------------------------------------------------ */

static int add_bytes(struct sql *db, const char *media, struct buf *out,
		     struct arena *a, struct err *e)
{
	struct media_bytes_row row;
	int found = sql_get(db, Q_MEDIA_BYTES, &(struct media_bytes_in){media},
			    &row, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "attachment %s is gone", media);
	if (found < 0)
		return -1;
	json_begin_string(out);
	base64_add(out, row.bytes.p, row.bytes.n);
	json_end_string(out);
	return 0;
}

static int put_inline(const struct inflight *p, struct buf *out,
		      struct arena *a, struct err *e)
{
	struct sql *db = p->channel->sup->db;
	struct media_use_row *rows;
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){p->row.id}, 1000, &rows,
			    a, e);

	if (n <= 0)
		return n;
	json_put_array(out, "attachments");
	for (int i = 0; i < n; i++) {
		json_begin_object(out);
		json_put_text(out, "name", rows[i].name);
		json_put_text(out, "type", rows[i].mime);
		json_put_text(out, "sha256", rows[i].sha256);
		json_put_int(out, "size", rows[i].size);
		json_key(out, "base64");
		if (add_bytes(db, rows[i].media, out, a, e))
			return -1;
		json_end_object(out);
	}
	json_end_array(out);
	return 0;
}

/* The other members of the body, as the agent wrote them. */
static void put_body(const cJSON *body, bool attachments, struct buf *out)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, body)
	{
		if (attachments || strcmp(v->string, "attachments") != 0)
			json_put(out, v->string, v);
	}
}

/* The members before those of the body. */
static void put_head(const struct inflight *p, struct buf *out)
{
	const struct delivery_claim_row *r = &p->row;

	json_put_text(out, "id", r->id);
	json_put_text(out, "channel", p->channel->name);
	json_put_text(out, "conversation", r->peer);
	json_put_text(out, "thread",
		      r->thread && r->thread[0] ? r->thread : NULL);
	json_put_text(out, "reply_to", r->reply_to);
	json_put_text(out, "agent", r->agent);
	json_put_text(out, "session", r->session);
	put_time(out, "created_at", r->created_at);
}

/* Adds the body, which is a JSON object, without parsing it. False: it has
 * attachments and must be parsed. */
static bool put_as_is(const char *body, struct buf *out)
{
	size_t n = strlen(body);

	if (n < 2 || body[0] != '{' || body[n - 1] != '}' ||
	    strstr(body, "\"attachments\""))
		return false;
	json_put_members(out, body);
	return true;
}

int envelope_write_data(const struct inflight *p, bool inline_media,
			struct buf *out, struct err *e)
{
	const char *text = p->row.body;
	struct arena a = {0};
	cJSON *body;
	int rc = 0;

	json_begin_object(out);
	put_head(p, out);
	if (put_as_is(text, out)) {
		json_end_object(out);
		return buf_ok(out, "the message", e);
	}
	body = json_parse("body", text, strlen(text), e);
	if (!body)
		return -1;
	put_body(body, !inline_media, out);
	if (inline_media)
		rc = put_inline(p, out, &a, e);
	json_end_object(out);
	cJSON_Delete(body);
	arena_fini(&a);
	return rc ? -1 : buf_ok(out, "the message", e);
}

/* --- the envelope ----------------------------------------------------- */

static const char *content_type(const char *mime)
{
	if (!strncmp(mime, "image/", 6))
		return "image";
	if (!strncmp(mime, "audio/", 6))
		return "audio";
	return strncmp(mime, "video/", 6) ? "file" : "video";
}

static int add_item(const struct inflight *p, const struct media_use_row *m,
		    struct buf *out, struct arena *a, struct err *e)
{
	struct supervisor *s = p->channel->sup;
	struct home_path dir = channel_media_dir(p->channel);
	const char *path;

	if (blob_materialise(s->db, m, dir.text, &path, a, e))
		return -1;
	json_begin_object(out);
	json_put_text(out, "content_type", content_type(m->mime));
	json_key(out, "body");
	if (m->size > INLINE_MAX)
		json_add_text(out, "");
	else if (add_bytes(s->db, m->media, out, a, e))
		return -1;
	json_put_object(out, "metadata");
	json_put_text(out, "name", m->name);
	json_put_text(out, "mime_type", m->mime);
	json_put_text(out, "sha256", m->sha256);
	json_put_text(out, "path", path);
	json_put_int(out, "size", m->size);
	json_end_object(out);
	json_end_object(out);
	return 0;
}

static void add_content(struct buf *out, const char *type, const char *body)
{
	json_begin_object(out);
	json_put_text(out, "content_type", type);
	json_put_text(out, "body", body);
	json_put_raw(out, "metadata", "{}");
	json_end_object(out);
}

static int add_message_content(const struct inflight *p, const cJSON *body,
			       struct buf *out, struct err *e)
{
	const char *text = json_text(body, "text", "");
	struct media_use_row *rows;
	struct arena a = {0};
	int n = sql_collect(p->channel->sup->db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){p->row.id}, 1000, &rows,
			    &a, e);
	int rc = n < 0 ? -1 : 0;

	if (text[0] || n == 0)
		add_content(out, "text", text);
	for (int i = 0; i < n && rc == 0; i++)
		rc = add_item(p, &rows[i], out, &a, e);
	arena_fini(&a);
	return rc;
}

static void put_routing(const struct inflight *p, struct buf *out)
{
	const struct delivery_claim_row *r = &p->row;
	struct buf from = BUF_MAX(256);

	buf_addf(&from, "agent:%s", r->agent ? r->agent : "skep");
	json_put_object(out, "routing");
	json_put_text(out, "id", r->id);
	json_put_text(out, "channel", p->channel->name);
	json_put_text(out, "direction", "outbound");
	json_put_text(out, "sender_id", from.p);
	json_put_text(out, "recipient_id", r->peer);
	put_time(out, "timestamp", r->created_at);
	json_put_object(out, "metadata");
	json_put_text(out, "attempt", p->attempt.text);
	json_put_text(out, "channel_id", r->peer);
	json_put_text(out, "thread",
		      r->thread && r->thread[0] ? r->thread : NULL);
	json_put_text(out, "reply_to", r->reply_to);
	json_put_text(out, "session", r->session);
	json_end_object(out);
	json_end_object(out);
	buf_fini(&from);
}

int envelope_write(const struct inflight *p, struct buf *out, struct err *e)
{
	cJSON *body = json_parse("body", p->row.body, strlen(p->row.body), e);
	const cJSON *event = cJSON_GetObjectItem(body, "event");
	const cJSON *json = cJSON_GetObjectItem(body, "json");
	const char *request = json ? json_text(body, "request_id", NULL) : NULL;
	int rc = 0;

	if (!body)
		return -1;
	json_begin_object(out);
	json_put_text(out, "version", "0.1");
	json_put_text(out, "message_type",
		      event     ? "event"
		      : request ? "response"
				: "message");
	json_put_text(out, "request_id", request);
	put_routing(p, out);
	json_put_array(out, "content");
	if (request) {
		struct buf text = BUF_MAX(16u << 20);

		json_add(&text, json);
		add_content(out, "json", text.p);
		buf_fini(&text);
	} else if (!event) {
		rc = add_message_content(p, body, out, e);
	}
	json_end_array(out);
	json_put(out, "event", event);
	json_end_object(out);
	cJSON_Delete(body);
	return rc ? -1 : buf_ok(out, "the message", e);
}
