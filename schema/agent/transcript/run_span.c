#include "schema/agent/transcript/run_span.h"

#include "schema/agent/transcript/event.h"
#include "schema/agent_queries.h"

/* The first seq whose event, or the next one that has a run, is of the run `id`
 * or a later one: rows of earlier versions do not say where a run began. Runs
 * are numbered in the order in which they begin, so halving finds it. */
static int search(struct agent_file *f, int64_t session, int64_t id,
		  int64_t *seq, struct err *e)
{
	struct event_tail_in all = {event_pos(session, 0),
				    event_pos(session, EVENT_SEQ_MAX)};
	struct event_tail_row tail;
	int64_t lo = 0, hi;

	if (sql_get(f->db, Q_EVENT_TAIL, &all, &tail, NULL, e) < 0)
		return -1;
	hi = tail.pos ? event_seq(tail.pos) + 1 : 0;
	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		struct tail_run_at_in in = {event_pos(session, mid), all.hi};
		struct tail_run_at_row row;
		int found = sql_get(f->db, Q_TAIL_RUN_AT, &in, &row, NULL, e);

		if (found < 0)
			return -1;
		if (found == 0 || row.run >= id)
			hi = mid;
		else
			lo = event_seq(row.pos) + 1;
	}
	*seq = lo;
	return 0;
}

int run_span_read(struct agent_file *f, const char *run, int64_t session,
		  struct run_span *out, struct err *e)
{
	struct tail_run_row row;
	struct tail_run_next_row next;
	int found = sql_get(f->db, Q_TAIL_RUN, &(struct tail_run_in){run}, &row,
			    NULL, e);

	if (found <= 0)
		return found;
	out->first = row.after_seq + 1;
	if (row.after_seq == OPT_NONE &&
	    search(f, session, row.id, &out->first, e))
		return -1;
	found = sql_get(f->db, Q_TAIL_RUN_NEXT,
			&(struct tail_run_next_in){row.id, session}, &next,
			NULL, e);
	out->last = found > 0 ? next.after_seq : EVENT_SEQ_MAX;
	if (found > 0 && next.after_seq == OPT_NONE) {
		found = search(f, session, row.id + 1, &out->last, e);
		out->last -= found == 0;
	}
	return found < 0 ? -1 : 1;
}
