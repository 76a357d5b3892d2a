#include "schema/agent/transcript/answer.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/run_span.h"
#include "schema/agent/transcript/session.h"

#include <string.h>

/* Adds as many whole characters as fit. */
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

/* *pos is the position of the message: its parts cannot be read while the query
 * of the events is open. */
static void read_event(const struct answer_events_row *row, struct buf *answer,
		       struct buf *printed, int64_t *pos)
{
	struct err ignored;
	cJSON *body = json_parse("event", row->body, strlen(row->body),
				 &ignored);
	const char *role = json_text(body, "role", "");

	if (row->type == EVENT_run_started) { /* another attempt */
		buf_clear(answer);
		buf_clear(printed);
		*pos = 0;
	} else if (row->type == EVENT_message && !strcmp(role, "assistant")) {
		buf_clear(answer);
		add_cut(answer, json_text(body, "content",
					  json_text(body, "text", "")));
		*pos = row->pos;
	} else if (row->type == EVENT_output) {
		if (printed->n)
			add_cut(printed, "\n");
		add_cut(printed, json_text(body, "text", ""));
	}
	cJSON_Delete(body);
}

int answer_read(struct sql *db, const struct answer_events_in *range,
		struct buf *answer, struct err *e)
{
	struct sql_rows it = sql_rows(db, Q_ANSWER_EVENTS, range);
	struct buf printed = BUF_MAX(answer->max);
	struct answer_events_row row;
	int64_t pos = 0;
	int rc;

	while (sql_next(&it, &row))
		read_event(&row, answer, &printed, &pos);
	rc = sql_end(&it, e);
	if (rc == 0 && pos && answer->n == 0)
		rc = add_parts(db, pos, answer, e);
	if (rc == 0 && answer->n == 0)
		buf_add(answer, printed.p, printed.n);
	buf_fini(&printed);
	return rc;
}

int answer_of_run(struct agent_file *f, const char *run, const char *session,
		  struct buf *answer, struct err *e)
{
	struct answer_events_in range;
	struct session_row row;
	struct tail_run_row which;
	struct run_span span;
	struct arena a = {0};
	int found = session_need(f, session, &row, &a, e) ? -1 : 1;

	if (found == 1)
		found = sql_get(f->db, Q_TAIL_RUN, &(struct tail_run_in){run},
				&which, NULL, e);
	if (found == 1)
		found = run_span_read(f, run, row.id, &span, e);
	if (found == 1) {
		range = (struct answer_events_in){
			.lo = event_pos(row.id, span.first - 1),
			.hi = event_pos(row.id, span.last),
			.run = which.id,
		};
		found = answer_read(f->db, &range, answer, e) ? -1 : 1;
	}
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}
