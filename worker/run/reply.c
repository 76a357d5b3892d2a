#include "worker/run/reply.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/answer.h"
#include "schema/control/channel/run_deliveries.h"

static int find_answer(struct run *r, struct buf *answer, struct err *e)
{
	struct writer *w = &r->transcript.writer;
	struct answer_events_in range = {w->session << 32 | r->transcript.first,
					 w->session << 32 | w->tail, w->run};

	return answer_read(w->file->db, &range, answer, e);
}

int reply_make(struct run *r, const struct run_end *end, struct event_new *ev,
	       struct err *e)
{
	struct buf answer = BUF_MAX(REPLY_MAX), body = BUF_MAX(REPLY_MAX * 7);
	struct outbox_new *o;
	int rc = 0;

	if (r->start->reply && end->reason == REASON_completed)
		rc = find_answer(r, &answer, e);
	if (rc == 0 && answer.n) {
		o = arena_alloc(&r->arena, sizeof *o);
		json_begin_object(&body);
		json_key(&body, "text");
		json_add_string(&body, answer.p, answer.n);
		json_end_object(&body);
		*o = (struct outbox_new){
			.key = arena_printf(&r->arena, OUTBOX_KEY_REPLY,
					    r->start->run),
			.target = r->start->reply,
			.body = arena_text(&r->arena, body.p),
		};
		ev->outbox = o;
	}
	buf_fini(&answer);
	buf_fini(&body);
	return rc;
}
