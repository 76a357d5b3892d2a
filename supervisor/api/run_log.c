/* The output of a run as JSON lines, and search in transcripts. A thread does
 * the work (write_async.h). */
#include <string.h>

#include "schema/agent/search/search.h"
#include "schema/agent/transcript/tail_json.h"
#include "supervisor/api/write_async.h"

#define PAGE_BYTES     ((size_t)4 << 20) /* a page ends after this many bytes */
#define LINE_MAX_BYTES ((size_t)64 << 20)

static int add_item_line(void *arg, const struct tail *t,
			 const struct tail_item *item)
{
	struct edit *ed = arg;

	(void)t;
	tail_item_line(&ed->out, item);
	return ed->out.n >= PAGE_BYTES;
}

static int write_log(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct tail_options want = {ed->q->key, ed->q->id, ed->q->from};
	struct buf cursor = BUF_MAX(8192);
	struct tail *t;
	int more = tail_open(&t, &want, e) ? -1 : 1;

	ed->out.max = PAGE_BYTES + LINE_MAX_BYTES;
	while (more > 0 && ed->out.n < PAGE_BYTES)
		more = tail_read(t, f, add_item_line, ed, e);
	if (more > 0) {
		tail_cursor(t, &cursor);
		ed->cursor = arena_text(&ed->q->arena, cursor.p);
	}
	if (more >= 0)
		more = buf_ok(&ed->out, "the log", e);
	buf_fini(&cursor);
	tail_close(t);
	return more < 0 ? -1 : 0;
}

void route_run_log(struct api_request *q)
{
	struct edit *ed = edit_run(q);

	if (!ed)
		return;
	q->from = request_query(q, "after");
	ed->reads_only = true;
	ed->type = "application/x-ndjson";
	edit_start(ed, write_log);
}

static int search_events(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct api_request *q = ed->q;
	struct search s = {.query = q->filter[1],
			   .session = q->filter[2],
			   .flags = (q->filter[3] ? SEARCH_ARCHIVED : 0u) |
				    (q->filter[4] ? SEARCH_NEWEST : 0u),
			   .skip = (int)ed->rev,
			   .count = (int)q->limit};
	struct search_hit *hits = NULL;
	int n = search_run(f, &s, &hits, &q->arena, e);

	list_begin(&ed->out);
	for (int i = 0; i < n; i++) {
		struct api_search_hit row = {hits[i].key,   hits[i].seq,
					     hits[i].type,  hits[i].at,
					     hits[i].score, hits[i].snippet,
					     hits[i].sid};

		list_item(&ed->out, &api_search_hit_shape, &row);
	}
	list_end(&ed->out, NULL);
	return n < 0 ? -1 : 0;
}

/* A search first brings the index up to date, which writes. */
void route_search(struct api_request *q)
{
	struct edit *ed;
	int64_t skip = 0;
	struct err e = {0};

	if (request_limit(q))
		return;
	if (http_query_i64(q->http, "skip", (int64_t[]){0, 1000000}, &skip,
			   &e)) {
		request_fail(q, &e);
		return;
	}
	q->filter[1] = request_query(q, "text");
	q->filter[2] = request_query(q, "session");
	q->filter[3] = http_query_flag(q->http, "archived") ? "yes" : NULL;
	q->filter[4] = http_query_flag(q->http, "newest") ? "yes" : NULL;
	ed = edit_new(q);
	ed->rev = skip;
	edit_start(ed, search_events);
}
