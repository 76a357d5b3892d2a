/* Reads Hiro's message envelope, version 0.1, and plain messages. */
#include "supervisor/channel/envelope.h"

#include "lib/base/text.h"
#include "schema/vocab.h"

#include <ctype.h>
#include <string.h>

#define TYPES    "message|event|request|response|stream"
#define CONTENTS "text|json|image|audio|video|file|location"
#define EVENTS                                                         \
	"message.received|message.transcribed|message.voiced|message." \
	"content_added"

static int bad(struct err *e, const char *what)
{
	return err_set(e, ERR_INVALID, "the envelope: %s", what);
}

static bool has_text(const cJSON *v, const char *name)
{
	const char *t = json_text(v, name, NULL);

	return t && t[0];
}

static bool one_of(const cJSON *v, const char *name, const char *words)
{
	const char *t = json_text(v, name, NULL);

	return t && vocab_has(words, t);
}

/* Absent or of this type; null only if or_null. */
static bool may_be(const cJSON *v, const char *name, int type, bool or_null)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, name);

	return !m || (m->type & 0xff) == type || (or_null && cJSON_IsNull(m));
}

/* Does the text begin like the shape? d matches a digit. */
static bool is_shaped(const char *t, const char *shape)
{
	for (; *shape; t++, shape++) {
		if (*shape == 'd' ? *t < '0' || *t > '9'
				  : toupper((unsigned char)*t) != *shape)
			return false;
	}
	return true;
}

static bool is_between(const char *two, int least, int most)
{
	int n = (two[0] - '0') * 10 + two[1] - '0';

	return n >= least && n <= most;
}

/* RFC 3339, as in 2026-04-28T18:00:00.5+02:00. */
static bool is_date_time(const char *t)
{
	if (!is_shaped(t, "dddd-dd-ddTdd:dd:dd") || !is_between(t + 5, 1, 12) ||
	    !is_between(t + 8, 1, 31) || !is_between(t + 11, 0, 23) ||
	    !is_between(t + 14, 0, 59) || !is_between(t + 17, 0, 60))
		return false;
	t += strlen("2026-04-28T18:00:00");
	if (is_shaped(t, ".d"))
		t += 1 + strspn(t + 1, "0123456789");
	if (is_shaped(t, "+dd:dd") || is_shaped(t, "-dd:dd"))
		return !t[6] && is_between(t + 1, 0, 23) &&
		       is_between(t + 4, 0, 59);
	return is_shaped(t, "Z") && !t[1];
}

static int check_routing(const cJSON *r, struct err *e)
{
	if (!cJSON_IsObject(r))
		return bad(e, "routing is missing");
	if (!has_text(r, "id") || !has_text(r, "channel") ||
	    !has_text(r, "sender_id"))
		return bad(e, "routing has id, channel and sender_id");
	if (!one_of(r, "direction", "inbound|outbound"))
		return bad(e, "direction is inbound or outbound");
	if (!may_be(r, "recipient_id", cJSON_String, true) ||
	    !may_be(r, "timestamp", cJSON_String, false) ||
	    !may_be(r, "metadata", cJSON_Object, false))
		return bad(e, "routing has a member of the wrong kind");
	if (!is_date_time(json_text(r, "timestamp", "2026-01-01T00:00:00Z")))
		return bad(e, "timestamp is like 2026-04-28T18:00:00Z");
	return 0;
}

static int check_content(const cJSON *list, bool *json, struct err *e)
{
	const cJSON *v;

	*json = false;
	if (!cJSON_IsArray(list))
		return bad(e, "content is a list");
	cJSON_ArrayForEach(v, list)
	{
		if (!cJSON_IsObject(v) || !one_of(v, "content_type", CONTENTS))
			return bad(e, "content_type is one of " CONTENTS);
		if (!may_be(v, "body", cJSON_String, false) ||
		    !may_be(v, "metadata", cJSON_Object, false))
			return bad(e, "content has a member of the wrong kind");
		*json |= !strcmp(json_text(v, "content_type", ""), "json");
	}
	return 0;
}

static int check_event(const cJSON *v, struct err *e)
{
	if (!cJSON_IsObject(v) || !one_of(v, "type", EVENTS))
		return bad(e, "an event has a type of " EVENTS);
	if (!may_be(v, "ref_id", cJSON_String, true) ||
	    !may_be(v, "data", cJSON_Object, false))
		return bad(e, "the event has a member of the wrong kind");
	return 0;
}

int envelope_check(const cJSON *json, struct err *e)
{
	const cJSON *event = cJSON_GetObjectItemCaseSensitive(json, "event");
	const cJSON *content = cJSON_GetObjectItemCaseSensitive(json,
								"content");
	const char *type = json_text(json, "message_type", "");
	bool has_event = event && !cJSON_IsNull(event), has_json;

	if (!cJSON_IsObject(json))
		return bad(e, "it is not an object");
	if (strcmp(json_text(json, "version", ""), "0.1") != 0)
		return bad(e, "only version 0.1 is known");
	if (!vocab_has(TYPES, type) || !type[0])
		return bad(e, "message_type is one of " TYPES);
	if (!may_be(json, "request_id", cJSON_String, true))
		return bad(e, "request_id must be a string");
	if (!json_text(json, "request_id", "-")[0])
		return bad(e, "request_id is empty; leave it out");
	if (check_routing(cJSON_GetObjectItemCaseSensitive(json, "routing"),
			  e) ||
	    check_content(content, &has_json, e) ||
	    (has_event && check_event(event, e)))
		return -1;
	if (!strcmp(type, "message") &&
	    (cJSON_GetArraySize(content) == 0 || has_event))
		return bad(e, "a message has content and no event");
	if (!strcmp(type, "event") &&
	    (cJSON_GetArraySize(content) > 0 || !has_event))
		return bad(e, "an event has an event and no content");
	if (vocab_has("request|response", type) &&
	    (!has_text(json, "request_id") || !has_json || has_event))
		return bad(e, "requests and responses have a request_id and "
			      "json content");
	return 0;
}

/* --- conversion to the internal form
 * ----------------------------------------- */

static void add_attachment(cJSON *list, const cJSON *v)
{
	const cJSON *meta = cJSON_GetObjectItem(v, "metadata");
	const char *kind = json_text(v, "content_type", "file");
	cJSON *item = cJSON_CreateObject();
	bool image = !strcmp(kind, "image");

	cJSON_AddStringToObject(
		item, "name",
		json_text(meta, "name", json_text(meta, "filename", kind)));
	cJSON_AddStringToObject(
		item, "type",
		json_text(meta, "mime_type",
			  image ? "image/*" : "application/octet-stream"));
	cJSON_AddStringToObject(item, "base64", json_text(v, "body", ""));
	cJSON_AddItemToArray(list, item);
}

/* Texts become one; what has bytes becomes attachments. */
static cJSON *body_of(const cJSON *content)
{
	cJSON *body = cJSON_CreateObject(), *list = cJSON_CreateArray();
	struct buf text = BUF_MAX(64u << 20);
	const cJSON *v;

	cJSON_ArrayForEach(v, content)
	{
		const char *kind = json_text(v, "content_type", "");

		if (vocab_has("image|audio|video|file", kind)) {
			add_attachment(list, v);
			continue;
		}
		if (text.n)
			buf_addc(&text, '\n');
		buf_adds(&text, json_text(v, "body", ""));
	}
	cJSON_AddStringToObject(body, "text", text.p);
	if (list->child)
		cJSON_AddItemToObject(body, "attachments", list);
	else
		cJSON_Delete(list);
	buf_fini(&text);
	return body;
}

static int read_envelope(struct inbound_message *m, const cJSON *json,
			 struct err *e)
{
	const cJSON *r = cJSON_GetObjectItem(json, "routing");
	const cJSON *meta = cJSON_GetObjectItem(r, "metadata");
	const char *type = json_text(json, "message_type", "");

	if (envelope_check(json, e))
		return -1;
	m->external_id = json_text(r, "id", NULL);
	m->sender = json_text(r, "sender_id", NULL);
	m->peer = json_text(meta, "channel_id",
			    json_text(meta, "conversation", m->sender));
	m->kind = json_text(meta, "kind", "direct");
	m->title = json_text(meta, "title", NULL);
	/* Responses and streams are only recorded: no caller waits for them. */
	m->type = vocab_has("message|event|request", type) ? type : "event";
	m->request = json_text(json, "request_id", NULL);
	m->body = body_of(cJSON_GetObjectItem(json, "content"));
	if (strcmp(type, "message") != 0)
		cJSON_AddStringToObject(m->body, "message_type", type);
	if (!strcmp(type, "event"))
		cJSON_AddItemToObject(
			m->body, "event",
			cJSON_Duplicate(cJSON_GetObjectItem(json, "event"),
					true));
	return 0;
}

/* Rejects members of another type, such as a number as id. */
static int check_texts(const cJSON *json, struct err *e)
{
	static const char *const texts[] = {"id",    "sender", "conversation",
					    "kind",  "title",  "text",
					    "agent", "session"};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (!may_be(json, texts[i], cJSON_String, true))
			return err_set(e, ERR_INVALID, "%s must be a string",
				       texts[i]);
	return 0;
}

static int read_plain(struct inbound_message *m, const cJSON *json,
		      struct err *e)
{
	static const char *const kept[] = {"text", "attachments", "meta"};

	if (check_texts(json, e))
		return -1;
	m->external_id = json_text(json, "id", NULL);
	m->sender = json_text(json, "sender", NULL);
	m->peer = json_text(json, "conversation", m->sender);
	m->kind = json_text(json, "kind", "direct");
	m->title = json_text(json, "title", NULL);
	m->type = "message";
	m->agent = json_text(json, "agent", NULL);
	m->session = json_text(json, "session", NULL);
	if (!m->sender && m->peer)
		m->sender = m->peer;
	m->body = cJSON_CreateObject();
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(json,
								  kept[i]);

		if (v)
			cJSON_AddItemToObject(m->body, kept[i],
					      cJSON_Duplicate(v, true));
	}
	return 0;
}

static int check_content_present(const struct inbound_message *m, struct err *e)
{
	if (!strcmp(m->type, "message") && !has_text(m->body, "text") &&
	    cJSON_GetArraySize(cJSON_GetObjectItem(m->body, "attachments")) ==
		    0)
		return err_set(e, ERR_INVALID,
			       "a message must have text or attachments");
	return 0;
}

static int check_keys(const struct inbound_message *m, struct err *e)
{
	if (!m->sender || !m->peer)
		return err_set(e, ERR_INVALID,
			       "a message must have a sender or a "
			       "conversation");
	if (text_check_key("sender", m->sender, CHANNEL_KEY_MAX, e) ||
	    text_check_key("conversation", m->peer, CHANNEL_KEY_MAX, e) ||
	    (m->external_id &&
	     text_check_key("id", m->external_id, CHANNEL_KEY_MAX, e)) ||
	    (m->title && text_check_key("title", m->title, 4096, e)) ||
	    (m->agent && text_check_name("agent", m->agent, e)) ||
	    (m->session && text_check_key("session", m->session, 256, e)))
		return -1;
	return text_check_word("kind", "direct|group", m->kind, e);
}

/* The format of skep's own webhook channels: {"type", "timestamp", "data"}.
 * Agent and session in it belong to the home that sent it; the agent becomes
 * the sender. */
static const cJSON *unwrap_skep(const cJSON *json)
{
	const cJSON *data = cJSON_GetObjectItemCaseSensitive(json, "data");

	return cJSON_IsObject(data) &&
			       !strcmp(json_text(json, "type", ""), "message")
		       ? data
		       : NULL;
}

static int read_skep(struct inbound_message *m, const cJSON *data,
		     struct err *e)
{
	if (read_plain(m, data, e))
		return -1;
	if (m->agent && !has_text(data, "sender"))
		m->sender = m->agent;
	m->agent = m->session = NULL;
	return 0;
}

int inbound_message_read(struct inbound_message *out, const cJSON *json,
			 struct err *e)
{
	const cJSON *skep_data = unwrap_skep(json);
	int rc;

	*out = (struct inbound_message){0};
	if (!cJSON_IsObject(json))
		return err_set(e, ERR_INVALID,
			       "a message must be a JSON object");
	rc = cJSON_GetObjectItemCaseSensitive(json, "message_type")
		     ? read_envelope(out, json, e)
	     : skep_data ? read_skep(out, skep_data, e)
			 : read_plain(out, json, e);
	if (rc == 0)
		rc = check_keys(out, e) || check_content_present(out, e) ? -1
									 : 0;
	if (rc)
		inbound_message_fini(out);
	return rc;
}

int inbound_message_from_outside(const struct inbound_message *m, struct err *e)
{
	if (m->agent || m->session)
		return err_set(e, ERR_INVALID,
			       "a message cannot choose its agent or "
			       "session; use 'skep channel bind'");
	return 0;
}

void inbound_message_fini(struct inbound_message *m)
{
	cJSON_Delete(m->body);
	m->body = NULL;
}
