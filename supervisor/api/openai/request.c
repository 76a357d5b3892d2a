#include "supervisor/api/openai/request.h"

#include <string.h>

#include "lib/base/text.h"
#include "schema/agent/transcript/session.h"
#include "supervisor/api/data_url.h"
#include "supervisor/api/openai/response_id.h"
#include "supervisor/core/supervisor.h"

#define FILES_BYTES (64u << 20)

/* What precedes the message of the user in the prompt. */
struct context {
	struct buf instructions, history;
	const cJSON *last; /* message of the user */
};

static bool is_word(const cJSON *obj, const char *name, const char *word)
{
	return strcmp(json_text(obj, name, ""), word) == 0;
}

/* --- options that an agent cannot follow ------------------------------- */

static int refuse(const char *member, const char *why, struct err *e)
{
	return err_set(e, ERR_INVALID, "\"%s\" is not supported: %s", member,
		       why);
}

static int check_options(const cJSON *body, struct err *e)
{
	const cJSON *choice = json_member(body, "tool_choice");
	const cJSON *format = json_member(body, "response_format");

	if (!format)
		format = json_member(json_member(body, "text"), "format");
	if (json_i64(body, "n", 1) != 1)
		return refuse("n", "a run has one answer", e);
	if (cJSON_IsObject(choice) || is_word(body, "tool_choice", "required"))
		return refuse("tool_choice",
			      "an agent uses its own tools, not those of the "
			      "client",
			      e);
	if (cJSON_IsObject(format) && !is_word(format, "type", "text"))
		return refuse("response_format", "an agent answers in text", e);
	return 0;
}

/* --- messages ------------------------------------------------------------- */

static void add_line(struct buf *out, const char *text)
{
	if (out->n)
		buf_addc(out, '\n');
	buf_adds(out, text);
}

/* The URL or the data of a picture or a file; NULL: it has neither. The member
 * is an object in chat completions and a text in responses. */
static const char *part_url(const cJSON *part, const cJSON **of)
{
	const cJSON *image = json_member(part, "image_url");
	const cJSON *file = json_member(part, "file");

	*of = cJSON_IsObject(file) ? file : part;
	if (cJSON_IsString(image))
		return image->valuestring;
	if (image)
		return json_text(image, "url", NULL);
	return json_text(*of, "file_data", json_text(*of, "file_url", NULL));
}

static int add_file_part(const cJSON *part, struct buf *text, struct buf *files,
			 struct err *e)
{
	const cJSON *of;
	const char *url = part_url(part, &of);
	const char *name = json_text(of, "filename", "file");

	if (!url)
		return err_set(e, ERR_INVALID,
			       "a part of type %s has no data; files that were "
			       "uploaded before are not supported",
			       quoted(json_text(part, "type", "")).text);
	if (strncmp(url, "data:", 5) == 0 && files)
		return data_url_attach(url, name, NULL, files, e);
	add_line(text, "[file ");
	buf_addf(text, "%s%s%s]", quoted(name).text, files ? ": " : "",
		 files ? url : "");
	return 0;
}

static int add_part(const cJSON *part, struct buf *text, struct buf *files,
		    struct err *e)
{
	const char *type = json_text(part, "type", "");
	const char *words = json_text(part, "text",
				      json_text(part, "refusal", NULL));

	if (words) {
		add_line(text, words);
		return 0;
	}
	if (strcmp(type, "image_url") == 0 || strcmp(type, "file") == 0 ||
	    strcmp(type, "input_image") == 0 || strcmp(type, "input_file") == 0)
		return add_file_part(part, text, files, e);
	return err_set(e, ERR_INVALID,
		       "a part of type %s is not supported; use text, pictures "
		       "or files",
		       quoted(type).text);
}

/* The text of a message; its files become attachments, unless files is NULL. */
static int add_content(const cJSON *message, struct buf *text,
		       struct buf *files, struct err *e)
{
	const cJSON *content = json_member(message, "content");
	const cJSON *p;

	if (cJSON_IsString(content)) {
		add_line(text, content->valuestring);
		return 0;
	}
	cJSON_ArrayForEach(p, content)
	{
		if (add_part(p, text, files, e))
			return -1;
	}
	return 0;
}

static int add_history(struct context *c, const cJSON *message, struct err *e)
{
	struct buf text = BUF_MAX(RUN_PROMPT_MAX);
	int rc = add_content(message, &text, NULL, e);

	if (rc == 0 && text.n)
		buf_addf(&c->history, "%s: %s\n\n",
			 json_text(message, "role", "user"), text.p);
	buf_fini(&text);
	return rc;
}

static int read_message(struct context *c, const cJSON *m, struct err *e)
{
	const char *role = json_text(m, "role", NULL);
	int rc = 0;

	if (!role)
		return is_word(m, "type", "reasoning")
			       ? 0
			       : err_set(e, ERR_INVALID,
					 "a message needs a \"role\"; tools of "
					 "the client are not supported");
	if (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0)
		return add_content(m, &c->instructions, NULL, e);
	if (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0)
		return err_set(e, ERR_INVALID,
			       "messages with the role %s are not supported: "
			       "an agent uses its own tools",
			       quoted(role).text);
	if (c->last)
		rc = add_history(c, c->last, e);
	c->last = m;
	return rc;
}

static int add_messages(struct context *c, const cJSON *list, struct err *e)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, list)
	{
		if (read_message(c, m, e))
			return -1;
	}
	if (!c->last || !is_word(c->last, "role", "user"))
		return err_set(e, ERR_INVALID,
			       "the last message must be one of the user");
	return 0;
}

static int write_prompt(struct context *c, struct openai_request *out,
			struct err *e)
{
	bool has_files;
	int rc = 0;

	if (c->instructions.n)
		buf_addf(&out->prompt, "[instructions]\n%s\n\n",
			 c->instructions.p);
	if (c->history.n)
		buf_addf(&out->prompt, "[conversation so far]\n%s",
			 c->history.p);
	if (out->prompt.n)
		buf_adds(&out->prompt, "[message]");
	json_begin_array(&out->files);
	if (cJSON_IsString(c->last))
		add_line(&out->prompt, c->last->valuestring);
	else
		rc = add_content(c->last, &out->prompt, &out->files, e);
	json_end_array(&out->files);
	has_files = out->files.n > strlen("[]");
	if (buf_ok(&out->prompt, "the prompt", e) ||
	    buf_ok(&out->files, "the files of the message", e) || rc)
		return -1;
	if (out->prompt.n == 0 && !has_files)
		return err_set(e, ERR_INVALID, "the message is empty");
	out->run.prompt = out->prompt.p;
	out->run.attachments = has_files ? out->files.p : NULL;
	return 0;
}

/* --- session and key --------------------------------------------------- */

/* A header, as a key of a session or of a request; NULL: it is absent. */
static int read_key(struct api_request *q, const char *header, size_t max,
		    const char **out, struct err *e)
{
	const char *value = http_header_once(q->http, header);

	*out = NULL;
	if (!value || !*value)
		return 0;
	if (text_check_key(header, value, max, e))
		return -1;
	*out = arena_text(&q->arena, value);
	return 0;
}

static int begin_request(struct api_request *q, const cJSON *body,
			 struct openai_request *out, struct err *e)
{
	const char *key;

	*out = (struct openai_request){
		.run = supervisor_run_defaults(q->api->sup),
		.is_stream = json_bool(body, "stream", false),
	};
	buf_init(&out->prompt, RUN_PROMPT_MAX);
	buf_init(&out->files, FILES_BYTES);
	out->run.agent = arena_text(&q->arena, json_text(body, "model", ""));
	out->run.by = q->by;
	if (check_options(body, e) ||
	    read_key(q, "Idempotency-Key", 256, &key, e) ||
	    read_key(q, "X-Skep-Session", SESSION_KEY_MAX, &out->run.session,
		     e))
		return -1;
	if (key)
		out->run.idem_key = arena_printf(&q->arena, "openai:%s", key);
	return 0;
}

static void context_fini(struct context *c)
{
	buf_fini(&c->instructions);
	buf_fini(&c->history);
}

/* Whether the session has runs: then it has the earlier messages. */
static int session_is_known(struct api_request *q, const struct run_request *r,
			    struct err *e)
{
	struct run_filter in = {.agent = r->agent,
				.session = r->session,
				.before = "~",
				.count = 1};
	struct run_ids_session_row row;

	if (!r->session)
		return 0;
	return sql_get(supervisor_db(q->api->sup), Q_RUN_IDS_SESSION, &in, &row,
		       &q->arena, e);
}

int openai_chat_read(struct api_request *q, const cJSON *body,
		     struct openai_request *out, struct err *e)
{
	struct context c = {.instructions = BUF_MAX(RUN_PROMPT_MAX),
			    .history = BUF_MAX(RUN_PROMPT_MAX)};
	int known = -1, rc = -1;

	if (begin_request(q, body, out, e) == 0)
		known = session_is_known(q, &out->run, e);
	out->shows_usage = json_bool(json_member(body, "stream_options"),
				     "include_usage", false);
	out->shows_activity = json_bool(body, "include_reasoning", false);
	if (known >= 0 &&
	    add_messages(&c, json_member(body, "messages"), e) == 0) {
		if (known) {
			buf_clear(&c.instructions);
			buf_clear(&c.history);
		}
		rc = write_prompt(&c, out, e);
	}
	context_fini(&c);
	return rc;
}

/* "previous_response_id" or "conversation" names the session. */
static int find_session(struct api_request *q, const cJSON *body,
			struct openai_request *out, struct err *e)
{
	const cJSON *conversation = json_member(body, "conversation");
	const char *previous = json_text(body, "previous_response_id", NULL);
	const char *id = cJSON_IsString(conversation)
				 ? conversation->valuestring
				 : json_text(conversation, "id", NULL);
	struct run_row row;
	char run[ID_SIZE];
	int found;

	if (id && text_check_key("conversation", id, SESSION_KEY_MAX, e))
		return -1;
	if (id)
		out->run.session = arena_text(&q->arena, id);
	if (!previous)
		return 0;
	if (openai_response_run(previous, run, e))
		return -1;
	found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			&(struct run_get_in){run}, &row, &q->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no response %s",
			       quoted(previous).text);
	if (found > 0 && strcmp(row.agent, out->run.agent) != 0)
		return err_set(e, ERR_INVALID,
			       "response %s is one of agent %s, not of %s",
			       previous, row.agent, out->run.agent);
	out->run.session = found > 0 ? row.session : NULL;
	return found < 0 ? -1 : 0;
}

int openai_response_read(struct api_request *q, const cJSON *body,
			 struct openai_request *out, struct err *e)
{
	struct context c = {.instructions = BUF_MAX(RUN_PROMPT_MAX),
			    .history = BUF_MAX(RUN_PROMPT_MAX)};
	const cJSON *input = json_member(body, "input");
	int rc = begin_request(q, body, out, e) || find_session(q, body, out, e)
			 ? -1
			 : 0;

	out->is_background = json_bool(body, "background", false);
	out->shows_activity = json_member(json_member(body, "reasoning"),
					  "summary") != NULL;
	buf_adds(&c.instructions, json_text(body, "instructions", ""));
	if (rc == 0 && cJSON_IsString(input))
		c.last = input;
	else if (rc == 0 && cJSON_IsArray(input))
		rc = add_messages(&c, input, e);
	else if (rc == 0)
		rc = err_set(e, ERR_INVALID,
			     "\"input\" must be a text or a list of messages");
	if (rc == 0)
		rc = write_prompt(&c, out, e);
	context_fini(&c);
	return rc;
}

void openai_request_free(struct openai_request *r)
{
	buf_fini(&r->prompt);
	buf_fini(&r->files);
}
