/* Active runs and invocations, with their health. */
#include "supervisor/api/ps.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "schema/control/cursor.h"
#include "schema/control/lists.h"
#include "schema/control/severity.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/core/usage.h"

#define ACTIVE_MAX 100000
#define USAGE_MAX  200

enum { BY_AGENT, BY_TAG, BY_INVOCATION, WITH_QUEUED };

void api_assess_run(struct supervisor *s, struct run_row *row)
{
	struct run_signs signs = {.supervised = true};
	struct run_activity activity;

	if (supervisor_run_activity(s, row->id, &activity)) {
		signs.has_worker = !activity.exited;
		signs.silent = activity.silent;
		signs.waits = !strcmp(activity.phase, "waiting");
	}
	run_classify(row, &signs);
}

/* Which question a run waits for. */
static void set_waiting(struct api_request *q, struct api_active *v)
{
	struct approval_oldest_open_in key = {v->id};
	struct approval_oldest_open_row row;
	struct err ignored;

	if (sql_get(supervisor_db(q->api->sup), Q_APPROVAL_OLDEST_OPEN, &key,
		    &row, &q->arena, &ignored) <= 0)
		return;
	v->approval = row.id;
	v->waits_for = row.title;
	v->waits_since = row.asked_at;
}

static struct api_active active_of(struct api_request *q,
				   const struct run_row *row)
{
	struct run_activity activity = {0};
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
			       .severity = row->severity,
			       .tags = row->tags,
			       .submitted_by = row->submitted_by,
			       .parent = row->parent,
			       .created_at = row->created_at,
			       .started_at = row->started_at,
			       .last_at = OPT_NONE,
			       .input_tokens = row->input_tokens,
			       .output_tokens = row->output_tokens,
			       .cost_micros = row->cost_micros,
			       .waits_since = OPT_NONE};

	if (supervisor_run_activity(q->api->sup, row->id, &activity)) {
		v.phase = activity.phase;
		v.connected = activity.connected;
		if (activity.last_seq > v.events)
			v.events = activity.last_seq;
		if (activity.last_message_at) {
			v.silent_ms = now - activity.last_message_at;
			v.last_at = activity.last_message_at;
		}
		if (activity.phase && !strcmp(activity.phase, "waiting"))
			set_waiting(q, &v);
	}
	if (q->flag) {
		supervisor_run_memory(q->api->sup, row->id, &memory);
		v.rss = memory.rss;
		v.processes = memory.processes;
	}
	return v;
}

static bool has_tag(const char *tags, const char *tag)
{
	struct err ignored;
	cJSON *list = json_parse("tags", tags, strlen(tags), &ignored);
	const cJSON *v;
	bool found = false;

	cJSON_ArrayForEach(v, list)
	{
		const char *text = cJSON_GetStringValue(v);

		found = found || (text && !strcmp(text, tag));
	}
	cJSON_Delete(list);
	return found;
}

static bool is_wanted(const struct api_request *q, const struct run_row *row)
{
	const char *const *by = q->filter;

	return (!by[BY_AGENT] || !strcmp(by[BY_AGENT], row->agent)) &&
	       (!by[BY_TAG] || has_tag(row->tags, by[BY_TAG])) &&
	       (!by[BY_INVOCATION] ||
		(row->invocation &&
		 !strcmp(by[BY_INVOCATION], row->invocation)));
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
				       .processes = OPT_NONE,
				       .tags = "[]",
				       .created_at = OPT_NONE,
				       .started_at = OPT_NONE,
				       .last_at = OPT_NONE,
				       .waits_since = OPT_NONE};

		if (q->filter[BY_TAG] || q->filter[BY_INVOCATION] ||
		    (q->filter[BY_AGENT] &&
		     strcmp(q->filter[BY_AGENT], idle.agent) != 0))
			continue;
		if (q->flag) {
			v.rss = idle.memory.rss;
			v.processes = idle.memory.processes;
		}
		list_item(out, &api_active_shape, &v);
	}
}

/* The newest runs of the queue, newest first. */
static int add_queued(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_filter filter = {.agent = q->filter[BY_AGENT],
				    .state = "queued",
				    .tag = q->filter[BY_TAG],
				    .invocation = q->filter[BY_INVOCATION],
				    .count = q->limit};
	struct run_row row;
	struct lists it;

	if (page_before(ID_RUN, NULL, &filter.before, e) ||
	    lists_open(&it, supervisor_db(q->api->sup), LISTS_RUNS, &filter, e))
		return -1;
	while (lists_next(&it, &row)) {
		struct api_active v;

		api_assess_run(q->api->sup, &row);
		v = active_of(q, &row);
		v.rss = v.processes = OPT_NONE;
		list_item(out, &api_active_shape, &v);
	}
	return lists_close(&it, e);
}

static int read_active(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_row *rows;
	int n = sql_collect(supervisor_db(q->api->sup), Q_RUN_LIST_ACTIVE, NULL,
			    100000, &rows, &q->arena, e);

	list_begin(out);
	for (int i = 0; i < n; i++) {
		struct api_active v;

		if (!is_wanted(q, &rows[i]))
			continue;
		api_assess_run(q->api->sup, &rows[i]);
		v = active_of(q, &rows[i]);
		list_item(out, &api_active_shape, &v);
	}
	add_idle_workers(q, out);
	if (n >= 0 && q->filter[WITH_QUEUED] && add_queued(q, out, e))
		return -1;
	list_end(out, NULL);
	return n < 0 ? -1 : 0;
}

void route_active(struct api_request *q)
{
	static const char *const names[] = {"agent", "tag", "invocation"};

	if (request_limit(q))
		return;
	for (int i = 0; i <= BY_INVOCATION; i++)
		q->filter[i] = request_query(q, names[i]);
	q->filter[WITH_QUEUED] = http_query_flag(q->http, "queued") ? "yes"
								    : NULL;
	q->flag = http_query_flag(q->http, "memory");
	request_read(q, read_active);
}

/* --- usage --------------------------------------------------------------- */

static void answer_usage(void *arg, const struct run_usage *rows, int n)
{
	struct api_request *q = arg;
	struct buf out = BUF_MAX(1 << 20);
	struct err e = {0};

	list_begin(&out);
	for (int i = 0; i < n; i++) {
		struct api_usage row = {rows[i].id, rows[i].rss, rows[i].cpu_ms,
					rows[i].processes};

		list_item(&out, &api_usage_shape, &row);
	}
	list_end(&out, NULL);
	request_answer(q, 0, &out, &e);
	buf_fini(&out);
}

void route_usage(struct api_request *q)
{
	char *rest = arena_text(&q->arena, http_query(q->http, "runs"));
	char *ids[USAGE_MAX], *word;
	int n = 0;

	while (n < USAGE_MAX && (word = strsep(&rest, ";")))
		ids[n++] = word;
	supervisor_measure_runs(q->api->sup, ids, n, answer_usage, q);
}

/* --- invocations ------------------------------------------------------- */

static void assess_invocation(struct invocation_row *row,
			      const struct run_row *active, int n)
{
	invocation_classify(row, NULL);
	for (int i = 0; i < n && row->active > 0; i++)
		if (active[i].invocation &&
		    !strcmp(active[i].invocation, row->invocation))
			invocation_classify(row, &active[i]);
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
