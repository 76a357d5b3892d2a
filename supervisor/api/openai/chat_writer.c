/* Chat completions: chunks, or one object. */
#include <string.h>

#include "lib/json/json_write.h"
#include "supervisor/api/openai/error.h"
#include "supervisor/api/openai/writer.h"

static void begin_object(struct openai_writer *w, struct buf *b,
			 const char *object)
{
	json_begin_object(b);
	json_key(b, "id");
	json_begin_string(b);
	buf_addf(b, "chatcmpl-%s", w->run);
	json_end_string(b);
	json_put_text(b, "object", object);
	json_put_int(b, "created", w->created_at / 1000);
	json_put_text(b, "model", w->model);
	json_put_array(b, "choices");
}

static void put_usage(struct buf *b, const struct run_row *row)
{
	json_put_object(b, "usage");
	json_put_int(b, "prompt_tokens", row->input_tokens);
	json_put_int(b, "completion_tokens", row->output_tokens);
	json_put_int(b, "total_tokens", row->input_tokens + row->output_tokens);
	json_end_object(b);
}

/* A chunk with one member of `delta`, or none. */
static void send_chunk(struct openai_writer *w, const char *member,
		       const char *value, const char *finish)
{
	struct buf *b = &w->event;

	begin_object(w, b, "chat.completion.chunk");
	json_begin_object(b);
	json_put_int(b, "index", 0);
	json_put_object(b, "delta");
	if (member && strcmp(member, "role") == 0)
		json_put_text(b, "content", "");
	if (member)
		json_put_text(b, member, value);
	json_end_object(b);
	json_put_nullable(b, "finish_reason", finish);
	json_end_object(b);
	json_end_array(b);
	if (w->shows_usage)
		json_put_null(b, "usage");
	json_end_object(b);
	openai_writer_send(w, NULL);
}

static void begin(struct openai_writer *w)
{
	send_chunk(w, "role", "assistant", NULL);
}

static void add_text(struct openai_writer *w, const char *more)
{
	if (w->is_stream)
		send_chunk(w, "content", more, NULL);
	else
		buf_adds(&w->text, more);
}

static void add_activity(struct openai_writer *w, const char *more)
{
	if (w->is_stream)
		send_chunk(w, "reasoning_content", more, NULL);
	else
		buf_adds(&w->activity, more);
}

static void send_usage(struct openai_writer *w, const struct run_row *row)
{
	begin_object(w, &w->event, "chat.completion.chunk");
	json_end_array(&w->event);
	put_usage(&w->event, row);
	json_end_object(&w->event);
	openai_writer_send(w, NULL);
}

static void end(struct openai_writer *w, const struct run_row *row)
{
	if (strcmp(row->state, "succeeded") == 0) {
		send_chunk(w, NULL, NULL, "stop");
		if (w->shows_usage)
			send_usage(w, row);
	} else {
		openai_error_add(&w->event, "run_failed", row->reason,
				 openai_failure(row));
		openai_writer_send(w, NULL);
	}
	buf_adds(&w->event, "[DONE]");
	openai_writer_send(w, NULL);
}

/* A failed run has a status that clients do not retry: a retry would be another
 * run. */
static int complete(struct openai_writer *w, const struct run_row *row,
		    struct buf *b)
{
	if (strcmp(row->state, "succeeded") != 0) {
		openai_error_add(b, "run_failed", row->reason,
				 openai_failure(row));
		return 422;
	}
	begin_object(w, b, "chat.completion");
	json_begin_object(b);
	json_put_int(b, "index", 0);
	json_put_object(b, "message");
	json_put_text(b, "role", "assistant");
	json_put_text(b, "content", w->text.p ? w->text.p : "");
	json_put_null(b, "refusal");
	if (w->activity.n)
		json_put_text(b, "reasoning_content", w->activity.p);
	json_end_object(b);
	json_put_null(b, "logprobs");
	json_put_text(b, "finish_reason", "stop");
	json_end_object(b);
	json_end_array(b);
	put_usage(b, row);
	json_end_object(b);
	return 200;
}

const struct openai_format openai_chat_format = {
	.begin = begin,
	.text = add_text,
	.activity = add_activity,
	.end = end,
	.complete = complete,
};
