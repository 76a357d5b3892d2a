/*
 * The run request in a message of an AI SDK chat. The session contains the
 * earlier messages, so the last one is enough: its texts become the prompt, its
 * files attachments. The id of the message makes the request idempotent: the
 * same message again is the same run. A message that is regenerated, or edited
 * and sent again, is a new run that replaces the old one: the session is
 * rewound to before it.
 */
#include "supervisor/api/ai_request.h"

#include <string.h>

#include "lib/base/text.h"
#include "supervisor/api/data_url.h"

#define PROMPT_BYTES (8u << 20)
#define FILES_BYTES  (64u << 20)
#define RERUNS_MAX   1000 /* runs of one message */

static bool is_type(const cJSON *part, const char *type)
{
	return strcmp(json_text(part, "type", ""), type) == 0;
}

/* --- texts and files ---------------------------------------------------- */

static void add_line(struct buf *out, const char *text)
{
	if (out->n)
		buf_addc(out, '\n');
	buf_adds(out, text);
}

/* A file on another host is only named; the sandbox decides whether the agent
 * can fetch it. */
static int add_file_part(const cJSON *part, struct buf *prompt,
			 struct buf *attachments, struct err *e)
{
	const char *url = json_text(part, "url", "");

	if (strncmp(url, "data:", 5) == 0)
		return data_url_attach(url, json_text(part, "filename", "file"),
				       json_text(part, "mediaType",
						 "application/octet-stream"),
				       attachments, e);
	if (!url[0])
		return err_set(e, ERR_INVALID, "a file part has no \"url\"");
	add_line(prompt, "[file ");
	buf_addf(prompt, "%s: %s]",
		 quoted(json_text(part, "filename", "file")).text, url);
	return 0;
}

static int read_parts(const cJSON *message, struct buf *prompt,
		      struct buf *attachments, struct err *e)
{
	const cJSON *p;

	cJSON_ArrayForEach(p, json_member(message, "parts"))
	{
		if (is_type(p, "text"))
			add_line(prompt, json_text(p, "text", ""));
		else if (is_type(p, "file") &&
			 add_file_part(p, prompt, attachments, e))
			return -1;
	}
	return buf_ok(prompt, "the message", e);
}

/* --- which run it is ---------------------------------------------------- */

/* "ai:CHAT:ID"; its later runs have "ai2:CHAT:ID" and so on. */
static const char *key_of(struct api_request *q, const char *id, int n)
{
	return n == 1 ? arena_printf(&q->arena, "ai:%s:%s", q->key, id)
		      : arena_printf(&q->arena, "ai%d:%s:%s", n, q->key, id);
}

const char *ai_message_id(const char *chat, const char *key)
{
	size_t n = strlen(chat);

	if (!key || strncmp(key, "ai", 2) != 0)
		return NULL;
	key += 2;
	key += strspn(key, "0123456789");
	if (*key++ != ':' || strncmp(key, chat, n) != 0 || key[n] != ':')
		return NULL;
	return key + n + 1;
}

/* Finds the newest run of the message. Returns how many runs there are. */
static int find_runs(struct api_request *q, const char *id, const char **run,
		     struct err *e)
{
	int n = 0;

	*run = NULL;
	while (n < RERUNS_MAX) {
		struct run_by_key_in in = {q->filter[0], key_of(q, id, n + 1)};
		struct run_by_key_row row;
		int found = sql_get(supervisor_db(q->api->sup), Q_RUN_BY_KEY,
				    &in, &row, &q->arena, e);

		if (found < 0)
			return -1;
		if (found == 0)
			break;
		*run = row.id;
		n++;
	}
	return n;
}

/* A run of this chat by its id, which is that of the assistant's message. */
static int is_run(struct api_request *q, const char *id, struct err *e)
{
	struct run_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			    &(struct run_get_in){id}, &row, &q->arena, e);

	return found <= 0 ? found
			  : strcmp(row.agent, q->filter[0]) == 0 &&
				    strcmp(row.session, q->key) == 0;
}

/* --- the request -------------------------------------------------------- */

/* Whether the client requests another answer, or has edited the message. */
static bool is_regeneration(const cJSON *body, const char *id)
{
	const char *trigger = json_text(body, "trigger", "");
	const char *message = json_text(body, "messageId", NULL);

	return strcmp(trigger, "regenerate-message") == 0 ||
	       (message && id && strcmp(message, id) == 0);
}

/* The run that this one replaces, or NULL. */
static int find_replaced(struct api_request *q, const cJSON *body,
			 const char *newest, const char **replaced,
			 struct err *e)
{
	const char *named = json_text(body, "messageId", NULL);
	int is = named ? is_run(q, named, e) : 0;

	*replaced = is > 0 ? arena_text(&q->arena, named) : newest;
	return is < 0 ? -1 : 0;
}

/* The message in the transcript has the same key, and so keeps the id of the
 * client. */
static void add_options(struct api_request *q, struct run_request *request,
			const char *replaced)
{
	struct buf b = BUF_MAX(4096);

	if (!request->idem_key && !replaced)
		return;
	json_begin_object(&b);
	json_put_text(&b, "prompt_key", request->idem_key);
	json_put_text(&b, "replaces", replaced);
	json_end_object(&b);
	request->options = arena_text(&q->arena, b.p);
	buf_fini(&b);
}

static int set_run_request(struct api_request *q, const cJSON *body,
			   const char *id, struct ai_run_request *out,
			   struct err *e)
{
	const char *newest = NULL, *replaced = NULL;
	int n = id ? find_runs(q, id, &newest, e) : 0;

	if (n < 0)
		return -1;
	if (is_regeneration(body, id)) {
		if (find_replaced(q, body, newest, &replaced, e))
			return -1;
		out->request.policy = "interrupt";
	}
	if (id)
		out->request.idem_key = key_of(q, id,
					       replaced || n == 0 ? n + 1 : n);
	out->request.prompt = out->prompt.p;
	add_options(q, &out->request, replaced);
	return 0;
}

int ai_request_read(struct api_request *q, const cJSON *body, const cJSON *last,
		    struct ai_run_request *out, struct err *e)
{
	const char *id = arena_text(&q->arena, json_text(last, "id", NULL));
	bool has_files;
	int rc = 0;

	buf_init(&out->prompt, PROMPT_BYTES);
	buf_init(&out->files, FILES_BYTES);
	json_begin_array(&out->files);
	if (strcmp(json_text(last, "role", ""), "user") == 0)
		rc = read_parts(last, &out->prompt, &out->files, e);
	json_end_array(&out->files);
	has_files = out->files.n > strlen("[]");
	if (rc || buf_ok(&out->files, "the files of the message", e))
		return -1;
	if (out->prompt.n == 0 && !has_files)
		return err_set(e, ERR_INVALID,
			       "the last of \"messages\" must be a user's, "
			       "with text or files, or the assistant's, with "
			       "answers to approvals");
	out->request.agent = q->filter[0];
	out->request.session = q->key;
	out->request.by = q->by;
	out->request.attachments = has_files ? out->files.p : NULL;
	return set_run_request(q, body, id, out, e);
}

void ai_request_free(struct ai_run_request *w)
{
	buf_fini(&w->prompt);
	buf_fini(&w->files);
}
