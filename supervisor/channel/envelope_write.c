#include "supervisor/channel/envelope.h"

#include "lib/base/clock.h"
#include "lib/json/base64.h"
#include "schema/control/channel/attachment.h"
#include "supervisor/channel/attachments.h"

#include <string.h>

#define INLINE_MAX (256 << 10) /* larger ones are files for a plugin */

static void time_member(struct buf *b, const char *name, int64_t at)
{
	char text[CLOCK_TEXT];

	json_add_member(b, name, clock_text(at, text));
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
	base64_add(out, row.bytes.p, row.bytes.n);
	return 0;
}

static int add_inline(const struct inflight *p, struct buf *out,
		      struct arena *a, struct err *e)
{
	struct sql *db = p->channel->sup->db;
	struct media_use_row *rows;
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){p->row.id}, 1000, &rows,
			    a, e);

	if (n <= 0)
		return n;
	buf_adds(out, ",\"attachments\":[");
	for (int i = 0; i < n; i++) {
		buf_adds(out, i ? ",{" : "{");
		json_add_member(out, "name", rows[i].name);
		json_add_member(out, "type", rows[i].mime);
		json_add_member(out, "sha256", rows[i].sha256);
		buf_addf(out, ",\"size\":%lld,\"base64\":\"",
			 (long long)rows[i].size);
		if (add_bytes(db, rows[i].media, out, a, e))
			return -1;
		buf_adds(out, "\"}");
	}
	buf_addc(out, ']');
	return 0;
}

/* The rest of the body: whatever the agent put into it. */
static void add_body(const cJSON *body, bool attachments, struct buf *out)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, body)
	{
		if (!attachments && !strcmp(v->string, "attachments"))
			continue;
		buf_addc(out, ',');
		json_add_string(out, v->string, strlen(v->string));
		buf_addc(out, ':');
		json_add(out, v);
	}
}

/* Members in front of those of the body. */
static void add_head(const struct inflight *p, struct buf *out)
{
	const struct delivery_claim_row *r = &p->row;

	buf_addc(out, '{');
	json_add_member(out, "id", r->id);
	json_add_member(out, "channel", p->channel->name);
	json_add_member(out, "conversation", r->peer);
	json_add_member(out, "thread",
			r->thread && r->thread[0] ? r->thread : NULL);
	json_add_member(out, "reply_to", r->reply_to);
	json_add_member(out, "agent", r->agent);
	json_add_member(out, "session", r->session);
	time_member(out, "created_at", r->created_at);
}

/* The body as it is: an object, as rows hold only such, and nothing in it has
 * to be put in or taken out. False: look at it. */
static bool add_as_is(const char *body, struct buf *out)
{
	size_t n = strlen(body);

	if (n < 2 || body[0] != '{' || body[n - 1] != '}' ||
	    strstr(body, "\"attachments\""))
		return false;
	if (strspn(body + 1, " \t\r\n") + 2 < n)
		buf_addc(out, ',');
	buf_add(out, body + 1, n - 1);
	return true;
}

int envelope_write_data(const struct inflight *p, bool inline_media,
			struct buf *out, struct err *e)
{
	const char *text = p->row.body;
	struct arena a = {0};
	cJSON *body;
	int rc = 0;

	add_head(p, out);
	if (add_as_is(text, out))
		return buf_ok(out, "the message", e);
	body = json_parse("body", text, strlen(text), e);
	if (!body)
		return -1;
	add_body(body, !inline_media, out);
	if (inline_media)
		rc = add_inline(p, out, &a, e);
	buf_addc(out, '}');
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
	buf_addf(out, "%s{\"content_type\":\"%s\",\"body\":\"",
		 out->p[out->n - 1] == '[' ? "" : ",", content_type(m->mime));
	if (m->size <= INLINE_MAX && add_bytes(s->db, m->media, out, a, e))
		return -1;
	buf_adds(out, "\",\"metadata\":{");
	json_add_member(out, "name", m->name);
	json_add_member(out, "mime_type", m->mime);
	json_add_member(out, "sha256", m->sha256);
	json_add_member(out, "path", path);
	buf_addf(out, ",\"size\":%lld}}", (long long)m->size);
	return 0;
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

	if (text[0] || n == 0) {
		buf_adds(out, "{\"content_type\":\"text\",\"body\":");
		json_add_string(out, text, strlen(text));
		buf_adds(out, ",\"metadata\":{}}");
	}
	for (int i = 0; i < n && rc == 0; i++)
		rc = add_item(p, &rows[i], out, &a, e);
	arena_fini(&a);
	return rc;
}

static void add_routing(const struct inflight *p, struct buf *out)
{
	const struct delivery_claim_row *r = &p->row;
	struct buf from = BUF_MAX(256);

	buf_addf(&from, "agent:%s", r->agent ? r->agent : "skep");
	buf_adds(out, "\"routing\":{");
	json_add_member(out, "id", r->id);
	json_add_member(out, "channel", p->channel->name);
	json_add_member(out, "direction", "outbound");
	json_add_member(out, "sender_id", from.p);
	json_add_member(out, "recipient_id", r->peer);
	time_member(out, "timestamp", r->created_at);
	buf_adds(out, ",\"metadata\":{");
	json_add_member(out, "attempt", p->attempt.text);
	json_add_member(out, "channel_id", r->peer);
	json_add_member(out, "thread",
			r->thread && r->thread[0] ? r->thread : NULL);
	json_add_member(out, "reply_to", r->reply_to);
	json_add_member(out, "session", r->session);
	buf_adds(out, "}}");
	buf_fini(&from);
}

int envelope_write(const struct inflight *p, struct buf *out, struct err *e)
{
	cJSON *body = json_parse("body", p->row.body, strlen(p->row.body), e);
	const cJSON *event = cJSON_GetObjectItem(body, "event");
	const char *request = json_text(body, "request_id", NULL);
	const cJSON *json = cJSON_GetObjectItem(body, "json");
	int rc = 0;

	if (!body)
		return -1;
	buf_adds(out, "{\"version\":\"0.1\",\"message_type\":");
	buf_adds(out, event     ? "\"event\","
		      : request ? "\"response\","
				: "\"message\",");
	if (request) {
		buf_adds(out, "\"request_id\":");
		json_add_string(out, request, strlen(request));
		buf_addc(out, ',');
	}
	add_routing(p, out);
	buf_adds(out, ",\"content\":[");
	if (request) {
		struct buf text = BUF_MAX(16u << 20);

		json_add(&text, json);
		buf_adds(out, "{\"content_type\":\"json\",\"body\":");
		json_add_string(out, text.p, text.n);
		buf_adds(out, ",\"metadata\":{}}");
		buf_fini(&text);
	} else if (!event) {
		rc = add_message_content(p, body, out, e);
	}
	buf_addc(out, ']');
	if (event) {
		buf_adds(out, ",\"event\":");
		json_add(out, event);
	}
	buf_addc(out, '}');
	cJSON_Delete(body);
	return rc ? -1 : buf_ok(out, "the message", e);
}
