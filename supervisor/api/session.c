/* Sessions of agents, read from their files. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/text.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session.h"
#include "supervisor/api/ai_request.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

#define PAGE     200
#define MESSAGES 1000 /* default and maximum */

enum { AGENT, STATUS, KIND, PREFIX };

/* Opens the file of the agent q->filter[AGENT]: 1, 0 if it has none, or -1. A
 * thread uses its own cache. */
static int file_of(struct api_request *q, struct agent_file **file,
		   struct err *e)
{
	return agent_files_get(q->own ? q->own : &q->api->files, q->db,
			       q->filter[AGENT], file, e);
}

/* Runs a read in a thread with its own cache of files. */
static int with_own_files(struct api_request *q, struct buf *out, struct err *e,
			  int (*read)(struct api_request *, struct buf *,
				      struct err *))
{
	struct agent_files own = {0};
	int rc;

	q->own = &own;
	rc = read(q, out, e);
	agent_files_close(&own);
	q->own = NULL;
	return rc;
}

static int read_sessions(struct api_request *q, struct buf *out, struct err *e)
{
	struct session_filter filter = {.status = q->filter[STATUS],
					.kind = q->filter[KIND],
					.prefix = q->filter[PREFIX],
					.all = q->flag,
					.count = (int)q->limit};
	struct session_item *rows = NULL;
	struct agent_file *file;
	char next[24] = "";
	int n;

	if (q->from &&
	    text_i64("before", q->from, 0, INT64_MAX, &filter.before, e))
		return -1;
	n = file_of(q, &file, e);
	if (n > 0)
		n = session_list(file, &filter, &rows, &q->arena, e);
	list_begin(out);
	for (int i = 0; i < n; i++) {
		list_item(out, &session_item_shape, &rows[i]);
		snprintf(next, sizeof next, "%" PRId64, rows[i].id);
	}
	list_end(out, n == q->limit ? next : NULL);
	return n < 0 ? -1 : 0;
}

static int read_sessions_async(struct api_request *q, struct buf *out,
			       struct err *e)
{
	return with_own_files(q, out, e, read_sessions);
}

void route_sessions(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->filter[AGENT] = request_param(q, "agent");
	q->filter[STATUS] = request_query(q, "status");
	q->filter[KIND] = request_query(q, "kind");
	q->filter[PREFIX] = request_query(q, "prefix");
	q->from = request_query(q, "before");
	q->flag = http_query_flag(q->http, "all");
	if (q->filter[PREFIX]) /* sorts all matching rows */
		request_read_async(q, read_sessions_async);
	else
		request_read(q, read_sessions);
}

static int need_session(struct api_request *q, struct agent_file **file,
			struct session_row *row, struct err *e)
{
	int found = file_of(q, file, e);

	if (found > 0)
		found = session_get(*file, q->key, row, &q->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "agent %s has no session %s",
			       quoted(q->filter[AGENT]).text,
			       quoted(q->key).text);
	return found < 0 ? -1 : 0;
}

static int read_session(struct api_request *q, struct buf *out, struct err *e)
{
	struct session_row row;
	struct agent_file *file;

	if (need_session(q, &file, &row, e))
		return -1;
	json_add_shape(out, &session_row_shape, &row);
	return 0;
}

void route_session_show(struct api_request *q)
{
	q->filter[AGENT] = request_param(q, "agent");
	q->key = request_param(q, "key");
	request_read(q, read_session);
}

/* A session in the format of the AI SDK. The answer of a run is one message,
 * whose id is that of the run, as in its stream. */
struct chat {
	const char *chat; /* the session's key */
	struct buf *out;
	struct agent_file *file;
	struct arena *arena;
	char run[ID_SIZE]; /* the run of the open message, or "" */
};

static void end_message(struct chat *c)
{
	if (c->run[0]) {
		json_end_array(c->out);
		json_end_object(c->out);
	}
	c->run[0] = '\0';
}

static void begin_message(struct chat *c, const char *id, const char *role)
{
	end_message(c);
	json_begin_object(c->out);
	json_put_text(c->out, "id", id);
	json_put_text(c->out, "role", role);
	json_put_array(c->out, "parts");
}

static void add_text_part(struct chat *c, const char *text)
{
	json_begin_object(c->out);
	json_put_text(c->out, "type", "text");
	json_put_text(c->out, "text", text);
	json_put_text(c->out, "state", "done");
	json_end_object(c->out);
}

static int add_parts(struct chat *c, const struct event *ev, struct err *e)
{
	struct part_row *rows;
	int n = part_read(c->file, event_pos(ev->session, ev->seq), &rows,
			  c->arena, e);

	if (n > 0)
		part_ui_json(rows, n, c->out);
	return n;
}

static int add_message(struct chat *c, const struct event *ev, struct err *e)
{
	struct err ignored;
	cJSON *body = json_parse_object("body", ev->body, strlen(ev->body),
					&ignored);
	const char *role = json_text(body, "role", "assistant");
	const char *text = json_text(body, "text",
				     json_text(body, "content", NULL));
	int n;

	if (strcmp(role, "assistant") != 0) {
		const char *own = ai_message_id(c->chat, ev->key);

		begin_message(c, own ? own : ev->id, role);
		snprintf(c->run, sizeof c->run, "-");
	} else if (strcmp(c->run, ev->run ? ev->run : ev->id) != 0) {
		begin_message(c, ev->run ? ev->run : ev->id, "assistant");
		snprintf(c->run, sizeof c->run, "%s",
			 ev->run ? ev->run : ev->id);
	}
	n = add_parts(c, ev, e);
	if (n == 0 && text)
		add_text_part(c, text);
	cJSON_Delete(body);
	return n < 0 ? -1 : 0;
}

/* The newest events that are messages, at most q->limit, oldest first. *before is
 * the seq of the first, 0 if there are no older ones. */
static int collect_messages(struct api_request *q, const struct history *h,
			    struct chat *c, struct event **out, int64_t *before,
			    struct err *e)
{
	struct event *list = arena_alloc(&q->arena,
					 (size_t)q->limit * sizeof *list);
	struct page page = {.more = true};
	int64_t n = 0;

	while (page.more && n < q->limit) {
		if (history_backward(c->file, h, *before, PAGE, &page,
				     &q->arena, e))
			return -1;
		for (int i = 0; i < page.count && n < q->limit; i++) {
			*before = page.events[i].seq;
			page.more |= i + 1 < page.count;
			if (strcmp(page.events[i].type, "message") == 0)
				list[q->limit - ++n] = page.events[i];
		}
	}
	if (!page.more)
		*before = 0;
	*out = list + q->limit - n;
	return (int)n;
}

static int read_messages(struct api_request *q, struct buf *out, struct err *e)
{
	struct chat c = {.out = out, .arena = &q->arena, .chat = q->key};
	struct session_row row;
	struct event *events;
	struct history h;
	int64_t before = 0;
	char next[24];
	int n;

	if ((q->from &&
	     text_i64("before", q->from, 1, INT64_MAX, &before, e)) ||
	    need_session(q, &c.file, &row, e) ||
	    history_load(c.file, row.id, HISTORY_PATH, &h, &q->arena, e))
		return -1;
	n = collect_messages(q, &h, &c, &events, &before, e);
	list_begin(out);
	for (int i = 0; i < n; i++)
		if (add_message(&c, &events[i], e))
			return -1;
	end_message(&c);
	snprintf(next, sizeof next, "%" PRId64, before);
	list_end(out, before ? next : NULL);
	return n < 0 ? -1 : 0;
}

static int read_messages_async(struct api_request *q, struct buf *out,
			       struct err *e)
{
	return with_own_files(q, out, e, read_messages);
}

void route_session_messages(struct api_request *q)
{
	struct err e = {0};

	q->limit = MESSAGES;
	if (http_query_i64(q->http, "limit", (int64_t[]){1, MESSAGES},
			   &q->limit, &e)) {
		request_fail(q, &e);
		return;
	}
	q->filter[AGENT] = request_param(q, "agent");
	q->key = request_param(q, "key");
	q->from = request_query(q, "before");
	request_read_async(q, read_messages_async);
}
