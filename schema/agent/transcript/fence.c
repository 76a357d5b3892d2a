#include "schema/agent/transcript/fence.h"

#include "lib/base/clock.h"
#include "schema/agent/transcript/event.h"

#include <stdio.h>
#include <string.h>

#define FENCE_KEY "fence" /* in meta: a count */

static int last_seq(struct agent_file *f, const struct run_row_local *row,
		    int64_t *out, struct err *e)
{
	struct event_last_of_run_in in = {
		event_pos(row->session, 0),
		event_pos(row->session, EVENT_SEQ_MAX), row->id};
	struct event_last_of_run_row last;
	int found = sql_get(f->db, Q_EVENT_LAST_OF_RUN, &in, &last, NULL, e);

	*out = found > 0 ? event_seq(last.pos) : 0;
	return found < 0 ? -1 : 0;
}

int run_last_seq(struct agent_file *f, const char *run, int64_t *out,
		 struct err *e)
{
	struct run_row_local row;
	struct arena a = {0};
	int found = sql_get(f->db, Q_RUN_LOCAL_GET,
			    &(struct run_local_get_in){run}, &row, &a, e);
	int rc = found < 0 ? -1 : 0;

	*out = 0;
	if (found > 0)
		rc = last_seq(f, &row, out, e);
	arena_fini(&a);
	return rc;
}

static int count_fence(struct agent_file *f, struct err *e)
{
	struct meta_get_i64_row row = {0};

	if (sql_get(f->db, Q_META_GET_I64, &(struct meta_get_i64_in){FENCE_KEY},
		    &row, NULL, e) < 0)
		return -1;
	return sql_exec(f->db, Q_META_PUT_I64,
			&(struct meta_put_i64_in){FENCE_KEY, row.value + 1},
			e) < 0
		       ? -1
		       : 0;
}

static int read_ending(struct agent_file *f, const struct run_row_local *row,
		       struct run_ending *out, struct err *e)
{
	bool abandoned = strcmp(row->status, "aborted") == 0;

	out->began = true;
	out->ended = !abandoned && strcmp(row->status, "running") != 0;
	snprintf(out->status, sizeof out->status, "%s", row->status);
	snprintf(out->reason, sizeof out->reason, "%s",
		 row->reason ? row->reason : "");
	if (abandoned &&
	    sql_exec(f->db, Q_RUN_LOCAL_REOPEN,
		     &(struct run_local_reopen_in){row->id}, e) < 0)
		return -1;
	return last_seq(f, row, &out->last_seq, e);
}

static int fence(struct agent_file *f, const char *run, int64_t attempt,
		 struct run_ending *out, struct err *e)
{
	struct run_row_local row;
	struct arena a = {0};
	int found, rc;

	if (count_fence(f, e))
		return -1;
	found = sql_get(f->db, Q_RUN_LOCAL_GET, &(struct run_local_get_in){run},
			&row, &a, e);
	rc = found < 0 ? -1 : 0;
	if (found > 0 && row.attempt == attempt)
		rc = read_ending(f, &row, out, e);
	arena_fini(&a);
	return rc;
}

int run_fence(struct agent_file *f, const char *run, int64_t attempt,
	      struct run_ending *out, struct err *e)
{
	*out = (struct run_ending){0};
	if (sql_enter(f->db, e))
		return -1;
	return sql_leave(f->db, fence(f, run, attempt, out, e), e);
}

int run_abandon(struct agent_file *f, const char *run, const char *reason,
		struct err *e)
{
	struct run_local_abandon_in in = {run, reason, clock_now()};
	int rc = sql_enter(f->db, e);

	if (rc == 0)
		rc = sql_leave(f->db,
			       sql_exec(f->db, Q_RUN_LOCAL_ABANDON, &in, e) < 0
				       ? -1
				       : 0,
			       e);
	return rc;
}
