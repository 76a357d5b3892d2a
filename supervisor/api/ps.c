/* Active runs and invocations, with their health. */
#include "supervisor/api/ps.h"

#include <string.h>

#include "lib/base/clock.h"
#include "schema/control/severity.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

#define ACTIVE_MAX 100000

void api_assess_run(struct supervisor *s, struct run_row *row)
{
	struct run_signs signs = {.supervised = true};
	struct run_activity live;

	if (supervisor_run_activity(s, row->id, &live)) {
		signs.has_worker = !live.exited;
		signs.silent = live.silent;
		signs.waits = !strcmp(live.phase, "waiting");
	}
	run_judge(row, &signs);
}

static struct api_active active_of(struct api_request *q,
				   const struct run_row *row)
{
	struct run_activity live = {0};
	struct run_memory memory = {0};
	int64_t now = clock_now();
	struct api_active v = {.id = row->id,
			       .agent = row->agent,
			       .session = row->session,
			       .state = row->state,
			       .age_ms = now - row->created_at,
			       .attempt = row->attempt,
			       .events = row->last_seq,
			       .silent_ms = OPT_NONE,
			       .pid = row->pid,
			       .rss = OPT_NONE,
			       .processes = OPT_NONE,
			       .health = row->health,
			       .severity = row->severity};

	if (supervisor_run_activity(q->api->sup, row->id, &live)) {
		v.phase = live.phase;
		v.connected = live.connected;
		if (live.last_seq > v.events)
			v.events = live.last_seq;
		if (live.last_message_at)
			v.silent_ms = now - live.last_message_at;
	}
	if (q->flag) {
		supervisor_run_memory(q->api->sup, row->id, &memory);
		v.rss = memory.rss;
		v.processes = memory.processes;
	}
	return v;
}

/* Idle workers use memory too; each is listed as its last run. */
static void add_idle_workers(struct api_request *q, struct buf *out)
{
	int64_t now = clock_now();
	struct idle_worker_info idle;

	for (int64_t i = 0;
	     supervisor_idle_worker(q->api->sup, i, q->flag, &idle); i++) {
		struct api_active v = {.id = idle.run,
				       .agent = idle.agent,
				       .session = idle.session,
				       .state = "idle",
				       .phase = "idle",
				       .age_ms = now - idle.since,
				       .silent_ms = OPT_NONE,
				       .connected = idle.connected,
				       .pid = idle.pid,
				       .rss = OPT_NONE,
				       .processes = OPT_NONE};

		if (q->flag) {
			v.rss = idle.memory.rss;
			v.processes = idle.memory.processes;
		}
		list_item(out, &api_active_shape, &v);
	}
}

static int read_active(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_row *rows;
	int n = sql_collect(supervisor_db(q->api->sup), Q_RUN_LIST_ACTIVE, NULL,
			    100000, &rows, &q->arena, e);

	list_begin(out);
	for (int i = 0; i < n; i++) {
		struct api_active v;

		api_assess_run(q->api->sup, &rows[i]);
		v = active_of(q, &rows[i]);
		list_item(out, &api_active_shape, &v);
	}
	add_idle_workers(q, out);
	list_end(out, NULL);
	return n < 0 ? -1 : 0;
}

void route_active(struct api_request *q)
{
	q->flag = http_query_flag(q->http, "memory");
	request_read(q, read_active);
}

/* --- invocations ------------------------------------------------------- */

static void assess_invocation(struct invocation_row *row,
			      const struct run_row *live, int n)
{
	invocation_judge(row, NULL);
	for (int i = 0; i < n && row->active > 0; i++)
		if (live[i].invocation &&
		    !strcmp(live[i].invocation, row->invocation))
			invocation_judge(row, &live[i]);
}

/* Runs in a thread: a page may have very many runs. */
static int read_invocations(struct api_request *q, struct buf *out,
			    struct err *e)
{
	struct invocation_list_in in = {q->from ? q->from : "~", q->limit};
	struct invocation_row *rows;
	int n = sql_collect(q->db, Q_INVOCATION_LIST, &in, (int)q->limit, &rows,
			    &q->arena, e);

	list_begin(out);
	for (int i = 0; i < n; i++) {
		assess_invocation(&rows[i], q->active, q->nactive);
		list_item(out, &invocation_row_shape, &rows[i]);
	}
	list_end(out, n == q->limit ? rows[n - 1].invocation : NULL);
	return n < 0 ? -1 : 0;
}

void route_invocations(struct api_request *q)
{
	struct err e = {0};

	if (request_limit(q))
		return;
	q->from = request_query(q, "before");
	q->nactive = sql_collect(q->db, Q_RUN_LIST_ACTIVE, NULL, ACTIVE_MAX,
				 &q->active, &q->arena, &e);
	for (int i = 0; i < q->nactive; i++)
		api_assess_run(q->api->sup, &q->active[i]);
	if (q->nactive < 0)
		request_fail(q, &e);
	else
		request_read_async(q, read_invocations);
}
