/* Events of runs and sessions: a page as JSON, or a stream. */
#include <inttypes.h>

#include "lib/base/text.h"
#include "schema/agent/transcript/session.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/stream.h"

static void put_stored(struct buf *b, const char *name, const char *json)
{
	json_put_stored(b, name, json ? json : "null");
}

void stream_event_json(struct buf *b, const struct event *ev)
{
	json_begin_object(b);
	json_put_int(b, "seq", ev->seq);
	json_put_nullable(b, "id", ev->id);
	json_put_nullable(b, "type", ev->type);
	json_put_nullable(b, "run", ev->run);
	json_put_nullable(b, "key", ev->key);
	json_put_int(b, "parent", ev->parent);
	json_put_int(b, "at", ev->at);
	put_stored(b, "body", ev->body);
}

void stream_part_json(struct buf *b, const struct tail_item *item,
		      const char *run)
{
	const struct tail_part *p = item->part;

	json_begin_object(b);
	if (run)
		json_put_text(b, "run", run);
	json_put_int(b, "seq", item->seq);
	json_put_int(b, "idx", p->idx);
	json_put_nullable(b, "kind", p->kind);
	json_put_nullable(b, "state", p->state);
	if (item->is_new || item->has_values) {
		json_put_nullable(b, "name", p->name);
		json_put_nullable(b, "call_id", p->call_id);
		put_stored(b, "input", p->input);
		put_stored(b, "output", p->output);
		put_stored(b, "meta", p->meta);
	}
	json_put_int(b, "rev", p->rev);
	json_put_int(b, "at", item->at);
	json_put_nullable(b, "text", p->text);
	json_end_object(b);
}

/* A page of JSON: events, each with its parts. */
struct pager {
	struct buf *out;
	int64_t left;
	int64_t last;
	bool open; /* an event whose parts follow */
	bool parts;
};

static void close_event(struct pager *p)
{
	if (p->parts)
		json_end_array(p->out);
	if (p->open)
		json_end_object(p->out);
	p->open = p->parts = false;
}

static int page_item(void *arg, const struct tail *t,
		     const struct tail_item *item)
{
	struct pager *p = arg;

	(void)t;
	if (item->event) {
		if (p->left == 0)
			return 1;
		close_event(p);
		stream_event_json(p->out, item->event);
		p->open = true;
		p->last = item->seq;
		p->left--;
	} else if (p->open && item->seq == p->last) {
		if (!p->parts)
			json_put_array(p->out, "parts");
		p->parts = true;
		stream_part_json(p->out, item, NULL);
	}
	return 0;
}

static int read_page(struct api_request *q, struct buf *out, struct err *e)
{
	struct tail_options want = {q->key, q->id, q->from};
	struct pager p = {.out = out, .left = q->limit};
	struct agent_file *file;
	struct tail *t;
	char next[24];
	int rc;

	if (tail_open(&t, &want, e))
		return -1;
	rc = agent_files_get(&q->api->files, supervisor_db(q->api->sup),
			     q->filter[0], &file, e);
	list_begin(out);
	while (rc > 0 && p.left > 0)
		rc = tail_read(t, file, page_item, &p, e);
	close_event(&p);
	snprintf(next, sizeof next, "%" PRId64, p.last);
	list_end(out, p.left == 0 ? next : NULL);
	tail_close(t);
	return rc < 0 ? -1 : 0;
}

/* Page or stream of the session q->key of agent q->filter[0], only the run
 * q->id if it is set. */
static int page_or_stream(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_stream_request want = {.agent = q->filter[0],
					  .session = q->key,
					  .run = q->id,
					  .after = q->from,
					  .until_idle = q->filter[1] != NULL};

	if (!q->flag)
		return read_page(q, out, e);
	if (run_stream_subscribe(q->api, &want, q->reply, e))
		return -1;
	q->reply = NULL;
	return 0;
}

static int read_run_events(struct api_request *q, struct buf *out,
			   struct err *e)
{
	struct run_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			    &(struct run_get_in){q->id}, &row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(q->id).text);
	q->filter[0] = row.agent;
	q->key = row.session;
	return found < 0 ? -1 : page_or_stream(q, out, e);
}

/* Checks that the session exists, or a run that will create it. */
static int need_session(struct api_request *q, struct err *e)
{
	struct run_queue_state_row queue = {0};
	struct session_row row;
	struct agent_file *file;
	struct sql *db = supervisor_db(q->api->sup);
	int found = agent_files_get(&q->api->files, db, q->filter[0], &file, e);

	if (found > 0)
		found = session_get(file, q->key, &row, &q->arena, e);
	if (found > 0 && row.key)
		q->key = row.key;
	if (found)
		return found < 0 ? -1 : 0;
	if (sql_get(db, Q_RUN_QUEUE_STATE,
		    &(struct run_queue_state_in){q->filter[0], q->key}, &queue,
		    &q->arena, e) < 0)
		return -1;
	if (queue.waiting == 0)
		return err_set(e, ERR_NOTFOUND, "agent %s has no session %s",
			       quoted(q->filter[0]).text, quoted(q->key).text);
	return 0;
}

static int read_session_events(struct api_request *q, struct buf *out,
			       struct err *e)
{
	return need_session(q, e) ? -1 : page_or_stream(q, out, e);
}

void route_run_events(struct api_request *q)
{
	if (request_reader(q))
		return;
	q->id = request_param(q, "id");
	request_read(q, read_run_events);
}

void route_session_events(struct api_request *q)
{
	if (request_reader(q))
		return;
	q->filter[0] = request_param(q, "agent");
	q->key = request_param(q, "key");
	q->filter[1] = request_query(q, "until");
	request_read(q, read_session_events);
}
