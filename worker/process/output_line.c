#include "worker/process/output_line.h"

#include "lib/base/text.h"
#include "lib/json/base64.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/event_body.h"
#include "schema/control/channel/run_deliveries.h"

#include <string.h>

#define TYPE_MAX       64
#define KEY_MAX        256
#define NANO_PER_MICRO 1000

/* Types that only the worker may use, or that mean more than an event. */
static const char *const reserved[] = {
	"run_started", "run_finished", "cancelled", "steer",
	"system",      "compaction",   "output",    "stderr",
};

static bool is_type(const char *word)
{
	size_t n = word ? strlen(word) : 0;

	return n > 0 && n <= TYPE_MAX &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_.-/") == n;
}

static bool is_reserved(const char *word)
{
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strcmp(reserved[i], word) == 0)
			return true;
	return false;
}

static const char *in_arena(struct arena *a, struct buf *b)
{
	const char *text = arena_textn(a, b->p, b->n);

	buf_fini(b);
	return text;
}

static const char *json_of(struct arena *a, const cJSON *v)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);

	json_add(&b, v);
	return in_arena(a, &b);
}

/* A NUL is valid UTF-8, but a C string cannot contain one. */
static bool is_text(const struct line *line)
{
	return !memchr(line->p, '\0', line->n) &&
	       text_is_utf8(line->p, line->n);
}

static void plain(const struct line *line, const char *stream, struct arena *a,
		  struct exec_line *out)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);

	json_begin_object(&b);
	if (is_text(line)) {
		json_key(&b, "text");
		json_add_string(&b, line->p, line->n);
	} else {
		json_key(&b, "base64");
		json_begin_string(&b);
		base64_add(&b, line->p, line->n);
		json_end_string(&b);
	}
	if (!line->last)
		json_put_bool(&b, "more", true);
	json_end_object(&b);
	out->event.type = stream;
	out->event.body = in_arena(a, &b);
}

static void read_usage(const cJSON *v, struct arena *a, struct exec_line *out)
{
	const char *model = json_text(v, "model", NULL);

	out->usage = (struct usage_new){
		.model = model ? arena_text(a, model) : NULL,
		.input = json_i64(v, "input_tokens", 0),
		.output = json_i64(v, "output_tokens", 0),
		.cached = json_i64(v, "cached_tokens", 0),
		.reasoning = json_i64(v, "reasoning_tokens", 0),
		.cost_nano = json_i64(v, "cost_micros", 0),
	};
	if (out->usage.input < 0 || out->usage.output < 0 ||
	    out->usage.cached < 0 || out->usage.reasoning < 0 ||
	    out->usage.cost_nano < 0 ||
	    out->usage.cost_nano > INT64_MAX / NANO_PER_MICRO)
		return; /* invalid values stay an event, and are not added up */
	out->usage.cost_nano *= NANO_PER_MICRO;
	out->event.usage = &out->usage;
}

static void read_outbox(cJSON *v, struct arena *a, struct exec_line *out)
{
	cJSON *outbox = cJSON_GetObjectItemCaseSensitive(v, "outbox");
	const cJSON *target = cJSON_GetObjectItemCaseSensitive(outbox,
							       "target");
	const cJSON *body = cJSON_GetObjectItemCaseSensitive(outbox, "body");

	if (!cJSON_IsObject(target) || !out->event.key)
		return;
	out->outbox = (struct outbox_new){
		.key = out->event.key,
		.target = json_of(a, target),
		.body = cJSON_IsObject(body) ? json_of(a, body)
					     : out->event.body,
	};
	out->event.outbox = &out->outbox;
}

/* A line whose type is reserved, or whose members do not match the type, is
 * stored unchanged. */
static void read_event(cJSON *v, const char *type, const char *run,
		       struct arena *a, struct exec_line *out)
{
	const char *key = json_text(v, "key", NULL);
	struct err ignored;
	bool raw = is_reserved(type) || event_body_check(type, v, &ignored);

	out->event.type = raw ? "raw" : arena_text(a, type);
	if (key && text_check_key("key", key, KEY_MAX, &ignored) == 0)
		out->event.key = arena_printf(a, OUTBOX_KEY_EXEC, run, key);
	if (!raw)
		cJSON_DeleteItemFromObjectCaseSensitive(v, "type");
	out->event.body = json_of(a, v);
	if (strcmp(out->event.type, "usage") == 0)
		read_usage(v, a, out);
	read_outbox(v, a, out);
}

static bool read_part(const cJSON *v, const char *type, struct arena *a,
		      struct exec_line *out)
{
	const char *part = json_text(v, "part", NULL);
	const char *kind = json_text(v, "kind", "text");
	const char *text = json_text(v, "text", NULL);
	bool delta = strcmp(type, "delta") == 0;

	if ((!delta && strcmp(type, "done") != 0) || !part || !part[0] ||
	    strlen(part) > TYPE_MAX || (delta && !text) ||
	    (strcmp(kind, "text") != 0 && strcmp(kind, "reasoning") != 0))
		return false;
	out->kind = delta ? EXEC_DELTA : EXEC_DONE;
	out->part = arena_text(a, part);
	out->part_kind = arena_text(a, kind);
	out->text = arena_text(a, text);
	return true;
}

static bool read_approval(const cJSON *v, const char *type, struct arena *a,
			  struct exec_line *out)
{
	const char *key = json_text(v, "key", NULL);
	const char *title = json_text(v, "title", NULL);
	const char *fallback = json_text(v, "fallback", NULL);
	const cJSON *detail = cJSON_GetObjectItemCaseSensitive(v, "detail");
	int64_t timeout = json_i64(v, "timeout_ms", OPT_NONE);

	if (strcmp(type, "approval") != 0 || !key || !title || !key[0] ||
	    strlen(key) > 128 || strlen(title) > 1024)
		return false;
	out->kind = EXEC_APPROVAL;
	out->key = arena_text(a, key);
	out->title = arena_text(a, title);
	out->detail = detail ? json_of(a, detail) : NULL;
	if (fallback && strcmp(fallback, "allow") == 0)
		out->fallback = "allow";
	else if (fallback)
		out->fallback = "deny"; /* an unknown word is not consent */
	out->timeout_ms = timeout < 0 ? OPT_NONE : timeout;
	return true;
}

void exec_line(const struct line *line, const char *stream, const char *run,
	       struct arena *a, struct exec_line *out)
{
	const char *type;
	struct err ignored;
	cJSON *v = NULL;

	*out = (struct exec_line){.kind = EXEC_EVENT,
				  .event.parent = WRITER_LEAF};
	if (line->whole && line->n > 0 && line->p[0] == '{' &&
	    strcmp(stream, "output") == 0)
		v = json_parse_object("line", line->p, line->n, &ignored);
	type = v ? json_text(v, "type", NULL) : NULL;
	if (!is_type(type))
		plain(line, stream, a, out);
	else if (!read_part(v, type, a, out) && !read_approval(v, type, a, out))
		read_event(v, type, run, a, out);
	cJSON_Delete(v);
}
