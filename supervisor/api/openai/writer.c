#include "supervisor/api/openai/writer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

#define ANSWER_MAX ((size_t)48 << 20)

static void on_text(void *arg, const char *more)
{
	struct openai_writer *w = arg;

	w->format->text(w, more);
}

static void on_activity(void *arg, const char *more)
{
	struct openai_writer *w = arg;

	w->format->activity(w, more);
}

struct openai_writer *openai_writer_new(const struct openai_writer_options *o)
{
	struct openai_writer *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->format = o->format;
	text_fit(w->run, sizeof w->run, o->run);
	w->model = strdup(o->model);
	w->session = strdup(o->session);
	w->created_at = o->created_at;
	w->is_stream = o->is_stream;
	w->shows_usage = o->shows_usage;
	w->shows_activity = o->shows_activity;
	w->is_background = o->is_background;
	w->deltas = (struct openai_deltas){
		.text = on_text,
		.activity = o->shows_activity ? on_activity : NULL,
		.arg = w,
	};
	w->message_index = w->reasoning_index = -1;
	buf_init(&w->text, ANSWER_MAX);
	buf_init(&w->activity, ANSWER_MAX);
	buf_init(&w->event, 2 * ANSWER_MAX);
	return w;
}

void openai_writer_free(struct openai_writer *w)
{
	if (!w)
		return;
	free(w->model);
	free(w->session);
	buf_fini(&w->text);
	buf_fini(&w->activity);
	buf_fini(&w->event);
	free(w);
}

void openai_writer_begin(struct openai_writer *w)
{
	if (!w->has_begun)
		w->format->begin(w);
	w->has_begun = true;
}

void openai_writer_item(struct openai_writer *w, const struct tail_item *item)
{
	openai_deltas_item(&w->deltas, item);
}

void openai_writer_end(struct openai_writer *w, const struct run_row *row)
{
	w->format->end(w, row);
}

int openai_writer_complete(struct openai_writer *w, const struct run_row *row,
			   struct buf *out)
{
	return w->format->complete(w, row, out);
}

void openai_writer_send(struct openai_writer *w, const char *type)
{
	w->send(w->arg, &(struct sse_event){.event = type,
					    .data = w->event.p,
					    .n = w->event.n});
	buf_clear(&w->event);
}

const char *openai_failure(const struct run_row *row)
{
	return row->detail ? row->detail : row->reason;
}
