/* Search in the logs. */
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/os/log_search.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

static int add_line(void *arg, const struct log_line *line, struct err *e)
{
	(void)e;
	list_item(arg, &log_line_shape, line);
	return 0;
}

static int read_time(const char *name, const char *text, int64_t *out,
		     struct err *e)
{
	return text ? text_i64(name, text, 0, INT64_MAX, out, e) : 0;
}

/* In a thread: the files may be large. */
static int read_log(struct api_request *q, struct buf *out, struct err *e)
{
	struct log_filter f = {.source = q->filter[0],
			       .module = q->filter[1],
			       .run = q->filter[2],
			       .text = q->filter[3],
			       .level = LOG_LEVEL_DEBUG};
	int rc;

	if (q->key)
		f.level = log_level_from(q->key);
	if (read_time("since", q->filter[4], &f.since, e) ||
	    read_time("until", q->filter[5], &f.until, e))
		return -1;
	list_begin(out);
	rc = log_search(q->id, &f, q->limit, NULL, add_line, out, e);
	list_end(out, NULL);
	return rc;
}

void route_log(struct api_request *q)
{
	static const char *const names[] = {"source", "module", "run",
					    "text",   "since",  "until"};

	if (request_limit(q))
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		q->filter[i] = request_query(q, names[i]);
	q->key = request_query(q, "level");
	q->id = arena_text(
		&q->arena,
		home_path(supervisor_home(q->api->sup), HOME_LOGS).text);
	request_read_async(q, read_log);
}
