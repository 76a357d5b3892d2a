#include "worker/run/reply.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/channel/run_deliveries.h"

#include <string.h>

/* As much of it as there is room for, in whole characters. */
static void add_cut(struct buf *b, const char *text)
{
	size_t n = strlen(text), room = b->max - b->n - 1;

	if (n > room)
		for (n = room;
		     n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
			n--;
	buf_add(b, text, n);
}

static int add_parts(struct sql *db, int64_t pos, struct buf *text,
		     struct err *e)
{
	struct answer_parts_in key = {pos};
	struct sql_rows it = sql_rows(db, Q_ANSWER_PARTS, &key);
	struct answer_parts_row row;

	while (sql_next(&it, &row))
		add_cut(text, row.text);
	return sql_end(&it, e);
}

/* 1 if the event is a message of the agent; its position counts, since parts
 * cannot be read while the events are. */
static bool read_event(const struct answer_events_row *row, struct buf *said,
		       struct buf *printed)
{
	struct err ignored;
	cJSON *body = json_parse("event", row->body, strlen(row->body),
				 &ignored);
	const char *role = json_text(body, "role", "");
	bool message = row->type == EVENT_message && !strcmp(role, "assistant");

	if (message) {
		buf_clear(said);
		add_cut(said, json_text(body, "content",
					json_text(body, "text", "")));
	} else if (row->type == EVENT_output) {
		if (printed->n)
			add_cut(printed, "\n");
		add_cut(printed, json_text(body, "text", ""));
	}
	cJSON_Delete(body);
	return message;
}

/* What it said last, else what it printed, into `said`. */
static int find_answer(struct run *r, struct buf *said, struct err *e)
{
	struct writer *w = &r->transcript.writer;
	struct answer_events_in in = {w->session << 32 | r->transcript.first,
				      w->session << 32 | w->tail, w->run};
	struct sql *db = w->file->db;
	struct sql_rows it = sql_rows(db, Q_ANSWER_EVENTS, &in);
	struct buf printed = BUF_MAX(REPLY_MAX);
	struct answer_events_row row;
	int64_t pos = 0;
	int rc;

	while (sql_next(&it, &row))
		if (read_event(&row, said, &printed))
			pos = row.pos;
	rc = sql_end(&it, e);
	if (rc == 0 && pos && said->n == 0)
		rc = add_parts(db, pos, said, e);
	if (rc == 0 && said->n == 0)
		buf_add(said, printed.p, printed.n);
	buf_fini(&printed);
	return rc;
}

int reply_make(struct run *r, const struct run_end *end, struct event_new *ev,
	       struct err *e)
{
	struct buf said = BUF_MAX(REPLY_MAX), body = BUF_MAX(REPLY_MAX * 7);
	struct outbox_new *o;
	int rc = 0;

	if (r->start->reply && end->reason == REASON_completed)
		rc = find_answer(r, &said, e);
	if (rc == 0 && said.n) {
		o = arena_alloc(&r->arena, sizeof *o);
		json_begin_object(&body);
		json_key(&body, "text");
		json_add_string(&body, said.p, said.n);
		json_end_object(&body);
		*o = (struct outbox_new){
			.key = arena_printf(&r->arena, OUTBOX_KEY_REPLY,
					    r->start->run),
			.target = r->start->reply,
			.body = arena_text(&r->arena, body.p),
		};
		ev->outbox = o;
	}
	buf_fini(&said);
	buf_fini(&body);
	return rc;
}
