#include "supervisor/api/openai/run_answer.h"

#include "supervisor/api/openai/answer.h"
#include "supervisor/api/stream/stream.h"
#include "supervisor/core/supervisor.h"

/* What is needed after the commit, in the arena of the request. */
struct pending_answer {
	const struct openai_format *format;
	bool is_stream, shows_usage, shows_activity, is_background;
};

struct openai_writer *openai_run_writer(const struct run_row *row,
					const struct openai_format *format,
					bool is_stream, bool shows_activity)
{
	return openai_writer_new(&(struct openai_writer_options){
		.format = format,
		.run = row->id,
		.model = row->agent,
		.session = row->session,
		.created_at = row->created_at,
		.is_stream = is_stream,
		.shows_activity = shows_activity,
	});
}

static void on_submitted(void *arg, const struct command_result *r)
{
	struct api_request *q = arg;
	const struct pending_answer *p = (const void *)q->from;
	struct openai_writer *w;
	struct run_row row;
	struct err e;
	int found = -1;

	if (r->failed) {
		request_fail(q, r->failed);
		return;
	}
	found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			&(struct run_get_in){r->id.text}, &row, &q->arena, &e);
	if (found == 0)
		err_set(&e, ERR_NOTFOUND, "the run was deleted");
	if (found <= 0) {
		request_fail(q, &e);
		return;
	}
	w = openai_run_writer(&row, p->format, p->is_stream, p->shows_activity);
	w->shows_usage = p->shows_usage;
	w->is_background = p->is_background;
	http_reply_header(q->reply, "X-Skep-Run", row.id);
	if (p->is_stream)
		openai_stream_subscribe(q, w);
	else if (p->is_background)
		openai_answer_now(q, w);
	else
		openai_answer_wait(q, w);
}

int openai_run_submit(struct api_request *q, const struct openai_request *r,
		      const struct openai_format *format, struct err *e)
{
	struct pending_answer *p = arena_alloc(&q->arena, sizeof *p);

	*p = (struct pending_answer){format, r->is_stream, r->shows_usage,
				     r->shows_activity, r->is_background};
	q->from = (const void *)p;
	return supervisor_submit_run(q->api->sup, &r->run,
				     (struct completion){on_submitted, q}, e);
}
