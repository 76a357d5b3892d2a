#include "supervisor/api/stream/ai_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"

#define FRAME_MAX ((size_t)128 << 20)

void ai_frames_init(struct ai_frames *f,
		    void (*send)(void *arg, const struct buf *frame), void *arg)
{
	*f = (struct ai_frames){.send = send, .arg = arg};
	buf_init(&f->frame, FRAME_MAX);
}

void ai_frames_fini(struct ai_frames *f)
{
	free(f->open);
	buf_fini(&f->frame);
}

static void begin_frame(struct ai_frames *f, const char *type)
{
	buf_clear(&f->frame);
	json_begin_object(&f->frame);
	json_put_text(&f->frame, "type", type);
}

static void add_string(struct ai_frames *f, const char *name, const char *value)
{
	json_put_text(&f->frame, name, value);
}

static void add_json(struct ai_frames *f, const char *name, const char *value)
{
	json_put_stored(&f->frame, name, value);
}

static void end_frame(struct ai_frames *f)
{
	json_end_object(&f->frame);
	f->send(f->arg, &f->frame);
}

/* The id of a part, which is the same each time the stream is read. */
static const char *part_id(int64_t seq, int64_t idx, char out[48])
{
	snprintf(out, 48, "%" PRId64 "-%" PRId64, seq, idx);
	return out;
}

static struct ai_part *find_part(struct ai_frames *f, int64_t seq, int64_t idx)
{
	for (size_t i = 0; i < f->nopen; i++)
		if (f->open[i].seq == seq && f->open[i].idx == idx)
			return &f->open[i];
	return NULL;
}

static struct ai_part *new_part(struct ai_frames *f, int64_t seq, int64_t idx)
{
	if (f->nopen == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 4;
		f->open = realloc(f->open, f->cap * sizeof *f->open);
		if (!f->open)
			abort();
	}
	f->open[f->nopen] = (struct ai_part){.seq = seq, .idx = idx};
	return &f->open[f->nopen++];
}

static void remove_part(struct ai_frames *f, struct ai_part *p)
{
	*p = f->open[--f->nopen];
}

void ai_frames_start(struct ai_frames *f, const char *run)
{
	if (f->started)
		return;
	f->started = true;
	begin_frame(f, "start");
	add_string(f, "messageId", run);
	end_frame(f);
	if (f->resumed)
		return;
	begin_frame(f, "start-step");
	end_frame(f);
}

static void add_block(struct ai_frames *f, const char *type, const char *id)
{
	begin_frame(f, type);
	add_string(f, "id", id);
	end_frame(f);
}

static void add_delta(struct ai_frames *f, const char *type, const char *id,
		      const char *more)
{
	begin_frame(f, type);
	add_string(f, "id", id);
	add_string(f, "delta", more);
	end_frame(f);
}

/* Plain output of a driver is one text until the next message. Only events end
 * it, not the growth of parts, which depends on the time of the poll: every
 * replay must produce the same message. */
static void end_output(struct ai_frames *f)
{
	char id[48];

	if (f->output)
		add_block(f, "text-end", part_id(f->output, -1, id));
	f->output = 0;
}

static void add_output(struct ai_frames *f, int64_t seq, const char *line)
{
	char id[48];

	if (!f->output) {
		f->output = seq;
		add_block(f, "text-start", part_id(seq, -1, id));
	}
	add_delta(f, "text-delta", part_id(f->output, -1, id), line);
	add_delta(f, "text-delta", id, "\n");
}

static void whole_text(struct ai_frames *f, int64_t seq, const char *value)
{
	char id[48];

	add_block(f, "text-start", part_id(seq, 0, id));
	add_delta(f, "text-delta", id, value);
	add_block(f, "text-end", id);
}

static void begin_approval(struct ai_frames *f, const char *type,
			   const char *key)
{
	struct buf id = BUF_MAX(4096);

	buf_addf(&id, "approval:%s", key);
	begin_frame(f, type);
	add_string(f, "toolCallId", id.p);
	buf_fini(&id);
}

static void new_step(struct ai_frames *f)
{
	begin_frame(f, "finish-step");
	end_frame(f);
	begin_frame(f, "start-step");
	end_frame(f);
}

/* A question is sent as a tool call that needs approval; the answer is its
 * output. The id of the approval is the key of the question. Questions are in a
 * step of their own: the client sends answers when all calls of the last step
 * have ended, and the call that the question is about has not. */
static void add_approval(struct ai_frames *f, const struct event *ev,
			 const cJSON *body)
{
	const char *key = json_text(body, "key", NULL);
	const char *state = json_text(body, "state", "");

	if (key && !strcmp(state, "asked")) {
		if (!f->question_open)
			new_step(f);
		begin_approval(f, "tool-input-start", key);
		add_string(f, "toolName", "approval");
		add_json(f, "dynamic", "true");
		end_frame(f);
		begin_approval(f, "tool-input-available", key);
		add_string(f, "toolName", "approval");
		add_json(f, "dynamic", "true");
		add_json(f, "input", ev->body);
		end_frame(f);
		begin_approval(f, "tool-approval-request", key);
		add_string(f, "approvalId", key);
		end_frame(f);
	} else if (key && !strcmp(state, "answered")) {
		bool allow = !strcmp(json_text(body, "decision", ""), "allow");

		begin_approval(f,
			       allow ? "tool-output-available"
				     : "tool-output-denied",
			       key);
		if (allow) {
			add_json(f, "output", ev->body);
			add_json(f, "dynamic", "true");
		}
		end_frame(f);
		if (f->answers > 0)
			f->answers--;
	}
}

static void add_event(struct ai_frames *f, const struct event *ev)
{
	struct err ignored;
	cJSON *body = json_parse_object("body", ev->body, strlen(ev->body),
					&ignored);
	const char *content = json_text(body, "text",
					json_text(body, "content", NULL));

	if (strcmp(ev->type, "output") == 0) {
		if (content)
			add_output(f, ev->seq, content);
	} else if (strcmp(ev->type, "message") == 0) {
		end_output(f);
		if (content &&
		    !strcmp(json_text(body, "role", "assistant"), "assistant"))
			whole_text(f, ev->seq, content);
	} else if (strcmp(ev->type, "approval") == 0) {
		add_approval(f, ev, body);
	}
	f->question_open = strcmp(ev->type, "approval") == 0 &&
			   strcmp(json_text(body, "state", ""), "asked") == 0;
	cJSON_Delete(body);
}

static bool is_final(const char *state)
{
	return !strcmp(state, "done") || !strcmp(state, "error") ||
	       !strcmp(state, "aborted");
}

static void add_text(struct ai_frames *f, const struct tail_item *item)
{
	const struct tail_part *p = item->part;
	struct ai_part *open = find_part(f, item->seq, p->idx);
	/* a text that turns out to be reasoning keeps the type with which it
	 * began */
	bool is_reasoning = open ? open->has_input
				 : strcmp(p->kind, "reasoning") == 0;
	char id[48];

	part_id(item->seq, p->idx, id);
	if (!open) {
		open = new_part(f, item->seq, p->idx);
		open->has_input = is_reasoning;
		add_block(f, is_reasoning ? "reasoning-start" : "text-start",
			  id);
	}
	if (p->text && p->text[0])
		add_delta(f, is_reasoning ? "reasoning-delta" : "text-delta",
			  id, p->text);
	if (is_final(p->state)) {
		add_block(f, is_reasoning ? "reasoning-end" : "text-end", id);
		remove_part(f, open);
	}
}

static void begin_tool(struct ai_frames *f, const char *type,
		       const struct tail_item *item)
{
	char id[48];

	begin_frame(f, type);
	add_string(f, "toolCallId",
		   item->part->call_id
			   ? item->part->call_id
			   : part_id(item->seq, item->part->idx, id));
}

static void tool_input(struct ai_frames *f, const struct tail_item *item)
{
	begin_tool(f, "tool-input-available", item);
	add_string(f, "toolName", item->part->name ? item->part->name : "tool");
	add_json(f, "dynamic", "true");
	add_json(f, "input", item->part->input ? item->part->input : "{}");
	end_frame(f);
}

static void tool_output(struct ai_frames *f, const struct tail_item *item)
{
	const char *output = item->part->output;

	if (strcmp(item->part->state, "done") == 0) {
		begin_tool(f, "tool-output-available", item);
		add_json(f, "output", output ? output : "null");
	} else {
		begin_tool(f, "tool-output-error", item);
		add_string(f, "errorText", output ? output : item->part->state);
	}
	add_json(f, "dynamic", "true");
	end_frame(f);
}

static void add_tool(struct ai_frames *f, const struct tail_item *item)
{
	const struct tail_part *p = item->part;
	struct ai_part *open = find_part(f, item->seq, p->idx);

	if (!open) {
		open = new_part(f, item->seq, p->idx);
		begin_tool(f, "tool-input-start", item);
		add_string(f, "toolName", p->name ? p->name : "tool");
		add_json(f, "dynamic", "true");
		end_frame(f);
	}
	if (!open->has_input && strcmp(p->state, "streaming") != 0) {
		open->has_input = true;
		tool_input(f, item);
	}
	if (is_final(p->state)) {
		tool_output(f, item);
		remove_part(f, open);
	}
}

static void add_file(struct ai_frames *f, const struct tail_part *p)
{
	struct err ignored;
	cJSON *meta = json_parse_object("meta", p->meta, strlen(p->meta),
					&ignored);

	if (is_final(p->state)) {
		begin_frame(f, "file");
		add_string(f, "mediaType",
			   json_text(meta, "mediaType",
				     "application/octet-stream"));
		add_string(f, "url", json_text(meta, "url", p->text));
		end_frame(f);
	}
	cJSON_Delete(meta);
}

static void add_data(struct ai_frames *f, const struct tail_item *item)
{
	struct buf type = BUF_MAX(4096);
	char id[48];

	buf_addf(&type, "data-%s",
		 item->part->name ? item->part->name : "value");
	begin_frame(f, type.p);
	add_string(f, "id", part_id(item->seq, item->part->idx, id));
	add_json(f, "data", item->part->output ? item->part->output : "null");
	end_frame(f);
	buf_fini(&type);
}

void ai_frames_item(struct ai_frames *f, const struct tail_item *item)
{
	const char *kind;

	if (item->event) {
		add_event(f, item->event);
		return;
	}
	kind = item->part->kind;
	if (!strcmp(kind, "text") || !strcmp(kind, "reasoning"))
		add_text(f, item);
	else if (!strcmp(kind, "tool"))
		add_tool(f, item);
	else if (!strcmp(kind, "file"))
		add_file(f, item->part);
	else
		add_data(f, item);
}

void ai_frames_pause(struct ai_frames *f, const char *cursor)
{
	end_output(f);
	begin_frame(f, "finish-step");
	end_frame(f);
	begin_frame(f, "finish");
	add_string(f, "finishReason", "tool-calls");
	json_put_object(&f->frame, "messageMetadata");
	json_put_object(&f->frame, AI_METADATA);
	add_string(f, AI_CURSOR, cursor);
	json_end_object(&f->frame);
	json_end_object(&f->frame);
	end_frame(f);
}

void ai_frames_end(struct ai_frames *f, const char *state, const char *why)
{
	end_output(f);
	if (!strcmp(state, "cancelled")) {
		begin_frame(f, "abort");
		add_string(f, "reason", why ? why : state);
		end_frame(f);
		return;
	}
	begin_frame(f, "finish-step");
	end_frame(f);
	if (strcmp(state, "succeeded") != 0) {
		begin_frame(f, "error");
		add_string(f, "errorText", why ? why : state);
		end_frame(f);
	}
	begin_frame(f, "finish");
	end_frame(f);
}
