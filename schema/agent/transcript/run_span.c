#include "schema/agent/transcript/run_span.h"

#include "schema/agent/transcript/event.h"
#include "schema/agent_queries.h"

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
	found = sql_get(f->db, Q_TAIL_RUN_NEXT,
			&(struct tail_run_next_in){row.id, session}, &next,
			NULL, e);
	out->last = found > 0 ? next.after_seq : EVENT_SEQ_MAX;
	return found < 0 ? -1 : 1;
}
