/* Sessions of agents, read from their files. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "schema/history.h"
#include "schema/part.h"
#include "schema/session.h"
#include "supervisor/web_ask.h"
#include "supervisor/web_routes.h"

enum { AGENT, STATUS, KIND, PREFIX };

/* The file of the agent in q->filter[AGENT]: 1, 0 if it has none, -1. */
static int file_of(struct ask *q, struct agent_file **file, struct err *e)
{
	return agent_files_get(&q->web->files, sup_db(q->web->sup),
			       q->filter[AGENT], file, e);
}

static int read_sessions(struct ask *q, struct buf *out, struct err *e)
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

void route_sessions(void *app, const struct http_request *r,
		    struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);

	if (ask_limit(q, r))
		return;
	q->filter[AGENT] = ask_param(q, r, "agent");
	q->filter[STATUS] = ask_query(q, r, "status");
	q->filter[KIND] = ask_query(q, r, "kind");
	q->filter[PREFIX] = ask_query(q, r, "prefix");
	q->from = ask_query(q, r, "before");
	q->flag = http_query_flag(r, "all");
	ask_read(q, read_sessions);
}

static int need_session(struct ask *q, struct agent_file **file,
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

static int read_session(struct ask *q, struct buf *out, struct err *e)
{
	struct session_row row;
	struct agent_file *file;

	if (need_session(q, &file, &row, e))
		return -1;
	json_add_shape(out, &session_row_shape, &row);
	return 0;
}

void route_session_show(void *app, const struct http_request *r,
			struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);

	q->filter[AGENT] = ask_param(q, r, "agent");
	q->key = ask_param(q, r, "key");
	ask_read(q, read_session);
}

/* A session as the AI SDK's client keeps it. What one run answered is one
 * message, whose id is the run's, as in its stream. */
struct chat {
	struct buf *out;
	struct agent_file *file;
	struct arena *arena;
	char run[ID_SIZE]; /* of the message that is open, or "" */
	bool any_part;
};

static void end_message(struct chat *c)
{
	if (c->run[0])
		buf_adds(c->out, "]}");
	c->run[0] = '\0';
}

static void begin_message(struct chat *c, const char *id, const char *role)
{
	end_message(c);
	if (c->out->p[c->out->n - 1] != '[')
		buf_addc(c->out, ',');
	buf_adds(c->out, "{\"id\":");
	json_add_string(c->out, id, strlen(id));
	buf_addf(c->out, ",\"role\":\"%s\",\"parts\":[", role);
	c->any_part = false;
}

static void add_text_part(struct chat *c, const char *text)
{
	if (c->any_part)
		buf_addc(c->out, ',');
	c->any_part = true;
	buf_adds(c->out, "{\"type\":\"text\",\"text\":");
	json_add_string(c->out, text, strlen(text));
	buf_adds(c->out, ",\"state\":\"done\"}");
}

static int add_parts(struct chat *c, const struct event *ev, struct err *e)
{
	struct buf b = BUF_MAX(64u << 20);
	struct part_row *rows;
	int n = part_read(c->file, event_pos(ev->session, ev->seq), &rows,
			  c->arena, e);

	if (n > 0) {
		part_ui_json(rows, n, &b); /* with brackets */
		if (c->any_part)
			buf_addc(c->out, ',');
		buf_add(c->out, b.p + 1, b.n - 2);
		c->any_part = true;
	}
	buf_fini(&b);
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
		begin_message(c, ev->id, role);
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

static int add_page(struct chat *c, const struct page *page, struct err *e)
{
	for (int i = 0; i < page->count; i++)
		if (strcmp(page->events[i].type, "message") == 0 &&
		    add_message(c, &page->events[i], e))
			return -1;
	return 0;
}

static int read_messages(struct ask *q, struct buf *out, struct err *e)
{
	struct session_row row;
	struct chat c = {.out = out, .arena = &q->arena};
	struct page page = {.more = true};
	struct history h;
	int64_t after = 0;

	if (need_session(q, &c.file, &row, e) ||
	    history_load(c.file, row.id, HISTORY_PATH, &h, &q->arena, e))
		return -1;
	list_begin(out);
	while (page.more) {
		if (history_forward(c.file, &h, after, 200, &page, &q->arena,
				    e) ||
		    add_page(&c, &page, e))
			return -1;
		if (page.count > 0)
			after = page.events[page.count - 1].seq;
	}
	end_message(&c);
	list_end(out, NULL);
	return 0;
}

void route_session_messages(void *app, const struct http_request *r,
			    struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);

	q->filter[AGENT] = ask_param(q, r, "agent");
	q->key = ask_param(q, r, "key");
	ask_read(q, read_messages);
}
