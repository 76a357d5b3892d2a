/* Responses: an object with the items of the output, and the events of a
 * stream, in which the items grow. The items begin when they have text, and end
 * with the run. */
#include <string.h>

#include "lib/json/json_write.h"
#include "schema/control/run.h"
#include "supervisor/api/openai/response_id.h"
#include "supervisor/api/openai/writer.h"

static void put_item_id(struct buf *b, const char *name, const char *prefix,
			const struct openai_writer *w)
{
	json_key(b, name);
	json_begin_string(b);
	buf_addf(b, "%s_%s", prefix, w->run + strlen("run_"));
	json_end_string(b);
}

static void add_text_part(struct buf *b, const char *text)
{
	json_begin_object(b);
	json_put_text(b, "type", "output_text");
	json_put_text(b, "text", text);
	json_put_array(b, "annotations");
	json_end_array(b);
	json_put_array(b, "logprobs");
	json_end_array(b);
	json_end_object(b);
}

/* text: NULL for an item that has just begun. */
static void add_message_item(struct buf *b, const struct openai_writer *w,
			     const char *text)
{
	json_begin_object(b);
	put_item_id(b, "id", "msg", w);
	json_put_text(b, "type", "message");
	json_put_text(b, "status", text ? "completed" : "in_progress");
	json_put_text(b, "role", "assistant");
	json_put_array(b, "content");
	if (text)
		add_text_part(b, text);
	json_end_array(b);
	json_end_object(b);
}

static void add_summary_part(struct buf *b, const char *text)
{
	json_begin_object(b);
	json_put_text(b, "type", "summary_text");
	json_put_text(b, "text", text);
	json_end_object(b);
}

static void add_reasoning(struct buf *b, const struct openai_writer *w,
			  const char *text)
{
	json_begin_object(b);
	put_item_id(b, "id", "rs", w);
	json_put_text(b, "type", "reasoning");
	json_put_array(b, "summary");
	if (text)
		add_summary_part(b, text);
	json_end_array(b);
	json_end_object(b);
}

/* --- the response --------------------------------------------------------- */

static const char *status_of(const struct run_row *row)
{
	if (!row || !run_row_is_over(row))
		return row && strcmp(row->state, "queued") == 0 ? "queued"
								: "in_progress";
	if (strcmp(row->state, "succeeded") == 0)
		return "completed";
	return strcmp(row->state, "cancelled") == 0 ? "cancelled" : "failed";
}

static void put_failure(struct buf *b, const struct run_row *row)
{
	if (strcmp(status_of(row), "failed") != 0) {
		json_put_null(b, "error");
		return;
	}
	json_put_object(b, "error");
	json_put_text(b, "code", "server_error");
	json_put_text(b, "message", openai_failure(row));
	json_end_object(b);
}

static void put_output(struct buf *b, const struct openai_writer *w)
{
	json_put_array(b, "output");
	for (int i = 0; i < w->items; i++) {
		if (i == w->message_index)
			add_message_item(b, w, w->text.p);
		if (i == w->reasoning_index)
			add_reasoning(b, w, w->activity.p);
	}
	json_end_array(b);
}

static void put_usage(struct buf *b, const struct run_row *row)
{
	json_put_object(b, "usage");
	json_put_int(b, "input_tokens", row->input_tokens);
	json_put_raw(b, "input_tokens_details", "{\"cached_tokens\":0}");
	json_put_int(b, "output_tokens", row->output_tokens);
	json_put_raw(b, "output_tokens_details", "{\"reasoning_tokens\":0}");
	json_put_int(b, "total_tokens", row->input_tokens + row->output_tokens);
	json_end_object(b);
}

/* row: NULL when the stream begins. */
static void add_response(struct buf *b, const struct openai_writer *w,
			 const struct run_row *row)
{
	bool is_over = row && run_row_is_over(row);
	char id[OPENAI_ID_SIZE];

	json_begin_object(b);
	json_put_text(b, "id", openai_response_id(w->run, id));
	json_put_text(b, "object", "response");
	json_put_int(b, "created_at", w->created_at / 1000);
	json_put_text(b, "status", status_of(row));
	json_put_bool(b, "background", w->is_background);
	put_failure(b, row);
	json_put_null(b, "incomplete_details");
	json_put_null(b, "instructions");
	json_put_text(b, "model", w->model);
	put_output(b, w);
	json_put_bool(b, "parallel_tool_calls", false);
	json_put_object(b, "conversation");
	json_put_text(b, "id", w->session);
	json_end_object(b);
	json_put_raw(b, "metadata", "{}");
	json_put_text(b, "tool_choice", "auto");
	json_put_raw(b, "tools", "[]");
	if (is_over)
		put_usage(b, row);
	else
		json_put_null(b, "usage");
	json_end_object(b);
}

/* --- the stream ----------------------------------------------------------- */

static struct buf *begin_event(struct openai_writer *w, const char *type)
{
	json_begin_object(&w->event);
	json_put_text(&w->event, "type", type);
	json_put_int(&w->event, "sequence_number", w->sequence++);
	return &w->event;
}

static void end_event(struct openai_writer *w, const char *type)
{
	json_end_object(&w->event);
	openai_writer_send(w, type);
}

static void send_response(struct openai_writer *w, const char *type,
			  const struct run_row *row)
{
	struct buf *b = begin_event(w, type);

	json_key(b, "response");
	add_response(b, w, row);
	end_event(w, type);
}

static void begin(struct openai_writer *w)
{
	send_response(w, "response.created", NULL);
	send_response(w, "response.in_progress", NULL);
}

static void send_message_item(struct openai_writer *w, const char *type,
			      const char *text)
{
	struct buf *b = begin_event(w, type);

	json_put_int(b, "output_index", w->message_index);
	json_key(b, "item");
	add_message_item(b, w, text);
	end_event(w, type);
}

static struct buf *begin_content(struct openai_writer *w, const char *type)
{
	struct buf *b = begin_event(w, type);

	put_item_id(b, "item_id", "msg", w);
	json_put_int(b, "output_index", w->message_index);
	json_put_int(b, "content_index", 0);
	return b;
}

static void send_text_part(struct openai_writer *w, const char *type,
			   const char *text)
{
	struct buf *b = begin_content(w, type);

	json_key(b, "part");
	add_text_part(b, text);
	end_event(w, type);
}

static void send_text(struct openai_writer *w, const char *type,
		      const char *member, const char *text)
{
	struct buf *b = begin_content(w, type);

	json_put_text(b, member, text);
	json_put_raw(b, "logprobs", "[]");
	end_event(w, type);
}

static void add_text(struct openai_writer *w, const char *more)
{
	bool is_first = w->message_index < 0;

	if (is_first)
		w->message_index = w->items++;
	buf_adds(&w->text, more);
	if (!w->is_stream)
		return;
	if (is_first) {
		send_message_item(w, "response.output_item.added", NULL);
		send_text_part(w, "response.content_part.added", "");
	}
	send_text(w, "response.output_text.delta", "delta", more);
}

static void end_message(struct openai_writer *w)
{
	if (w->message_index < 0)
		return;
	send_text(w, "response.output_text.done", "text", w->text.p);
	send_text_part(w, "response.content_part.done", w->text.p);
	send_message_item(w, "response.output_item.done", w->text.p);
}

static void send_reasoning_item(struct openai_writer *w, const char *type,
				const char *text)
{
	struct buf *b = begin_event(w, type);

	json_put_int(b, "output_index", w->reasoning_index);
	json_key(b, "item");
	add_reasoning(b, w, text);
	end_event(w, type);
}

static struct buf *begin_summary(struct openai_writer *w, const char *type)
{
	struct buf *b = begin_event(w, type);

	put_item_id(b, "item_id", "rs", w);
	json_put_int(b, "output_index", w->reasoning_index);
	json_put_int(b, "summary_index", 0);
	return b;
}

static void send_summary_part(struct openai_writer *w, const char *type,
			      const char *text)
{
	struct buf *b = begin_summary(w, type);

	json_key(b, "part");
	add_summary_part(b, text);
	end_event(w, type);
}

static void send_summary(struct openai_writer *w, const char *type,
			 const char *member, const char *text)
{
	struct buf *b = begin_summary(w, type);

	json_put_text(b, member, text);
	end_event(w, type);
}

static void add_activity(struct openai_writer *w, const char *more)
{
	bool is_first = w->reasoning_index < 0;

	if (is_first)
		w->reasoning_index = w->items++;
	buf_adds(&w->activity, more);
	if (!w->is_stream)
		return;
	if (is_first) {
		send_reasoning_item(w, "response.output_item.added", NULL);
		send_summary_part(w, "response.reasoning_summary_part.added",
				  "");
	}
	send_summary(w, "response.reasoning_summary_text.delta", "delta", more);
}

static void end_reasoning(struct openai_writer *w)
{
	if (w->reasoning_index < 0)
		return;
	send_summary(w, "response.reasoning_summary_text.done", "text",
		     w->activity.p);
	send_summary_part(w, "response.reasoning_summary_part.done",
			  w->activity.p);
	send_reasoning_item(w, "response.output_item.done", w->activity.p);
}

static void end(struct openai_writer *w, const struct run_row *row)
{
	const char *status = status_of(row);

	end_reasoning(w);
	end_message(w);
	/* There is no event for a cancelled response. */
	send_response(w,
		      strcmp(status, "completed") == 0 ? "response.completed"
						       : "response.failed",
		      row);
}

static int complete(struct openai_writer *w, const struct run_row *row,
		    struct buf *out)
{
	add_response(out, w, row);
	return 200;
}

const struct openai_format openai_response_format = {
	.begin = begin,
	.text = add_text,
	.activity = add_activity,
	.end = end,
	.complete = complete,
};
