/* The time from a cancel to the verified end of the run, among many active
 * ones. */
#include "bench/load/run_load.h"
#include "lib/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AGENTS   50
#define GRACE_MS 300 /* of the configuration of run_load */
#define GIVE_UP  INT64_C(30000000000)

struct plan {
	int live;
	const char *script;
	bool listens; /* so its handler records when it was called */
};

enum { HANDLER_MS_P99 }; /* of bench_sample.more */

static int cancel_one(struct run_load *f, const char *id,
		      struct histogram *wait, struct err *e)
{
	struct timespec pause = {0, 200000};
	int64_t began = clock_mono_ns(), over = 0;
	char path[128];

	snprintf(path, sizeof path, "/v1/runs/%s/cancel", id);
	if (test_daemon_call(&f->daemon, "POST", path, "{\"reason\":\"bench\"}",
			     NULL, e))
		return -1;
	while (!over) {
		if (run_load_number(
			    f, &over, e,
			    "SELECT count(*) FROM run WHERE id = '%s' AND "
			    "state = 'cancelled'",
			    id))
			return -1;
		if (clock_mono_ns() - began > GIVE_UP)
			return err_set(e, ERR_TIMEOUT, "%s does not end", id);
		if (!over)
			nanosleep(&pause, NULL);
	}
	histogram_add(wait, clock_mono_ns() - began);
	return 0;
}

/* From the row of the request to the output of the worker's handler, in whole
 * milliseconds: it includes skepd's commit, the message and the worker's own
 * time. */
static int time_handler(struct run_load *f, int i, const char *id,
			struct histogram *wait, struct err *e)
{
	char sql[256];
	int64_t requested_at, handled_at = 0;
	struct sql *db;
	int rc;

	if (run_load_number(
		    f, &requested_at, e,
		    "SELECT created_at FROM run_command WHERE run = '%s'",
		    id) ||
	    run_load_agent_open(f, i, &db, e))
		return -1;
	snprintf(sql, sizeof sql,
		 "SELECT e.at FROM run r JOIN event e ON e.run = r.id JOIN "
		 "event_type t ON t.id = e.type WHERE r.run_id = '%s' AND "
		 "t.name = 'cancelled'",
		 id);
	rc = sql_script_i64(db, sql, &handled_at, e);
	sql_close(db);
	if (rc == 0)
		histogram_add(wait, (handled_at - requested_at) * 1000000);
	return rc;
}

static int cancel_many(struct bench_run *r, struct run_load *f,
		       const struct plan *p, struct bench_sample *out,
		       struct err *e)
{
	static struct histogram handler;
	int64_t until, got;
	char(*ids)[64] = calloc((size_t)p->live, sizeof *ids);
	int rc = 0;

	if (!ids)
		abort();
	handler = (struct histogram){0};
	for (int i = 0; i < p->live && rc == 0; i++)
		rc = run_load_submit(f, i, p->script, ids[i], e);
	if (rc == 0 && run_load_until(f, r,
				      "SELECT count(*) FROM run WHERE state = "
				      "'running'",
				      p->live, 120, &got, e) != 1)
		rc = err_set(e, ERR_TIMEOUT, "not all runs are up");
	until = clock_mono_ns() + (int64_t)(bench_seconds(r) * 1e9);
	for (int i = 0; i < p->live && rc == 0 && !bench_stopped(r) &&
			clock_mono_ns() < until;
	     i++) {
		rc = cancel_one(f, ids[i], &out->wait, e);
		if (rc == 0 && p->listens)
			rc = time_handler(f, i, ids[i], &handler, e);
		out->operations++;
	}
	out->value = (double)histogram_at(&out->wait, 0.99) / 1e6;
	out->more[HANDLER_MS_P99] = (double)histogram_at(&handler, 0.99) / 1e6;
	free(ids);
	return rc;
}

static int measure_cancel(struct bench_run *r, void *arg,
			  struct bench_sample *out, struct err *e)
{
	const struct plan *p = arg;
	const char *dir = bench_dir(r, "cancel");
	struct run_load f;
	int rc = run_load_start(&f, dir, AGENTS, p->live + 16, e);

	if (rc)
		return -1;
	rc = cancel_many(r, &f, p, out, e);
	run_load_stop(&f);
	bench_dir_remove(r, dir);
	return rc;
}

static int run_cancel(struct bench_run *r, struct err *e)
{
	int n = (int)bench_option_i64(r, "live", bench_is_quick(r) ? 20 : 1000);
	struct plan plans[] = {
		{n, "[{\"sleep_ms\":3600000}]", true},
		{n < 50 ? n : 50, "[{\"stall\":\"bench\"}]", false}};
	struct bench_case cases[] = {
		{"it listens", measure_cancel, &plans[0]},
		{"it ignores all", measure_cancel, &plans[1]}};
	static struct bench_result res[2];

	if (bench_interleave(r, cases, 2, res, e))
		return -1;
	if (res[0].values.n == 0 || res[1].values.n == 0)
		return 0;
	bench_print(r,
		    "%d runs are live; from the request to the terminal row, "
		    "as another process reads it. The handler: from the row of "
		    "the request to what the worker's handler committed.",
		    n);
	bench_metric(r, &(struct bench_metric){
				.metric = "cancel_handler_ms_p99",
				.unit = "ms",
				.samples = &res[0].more[HANDLER_MS_P99],
				.less_is_better = true,
				.against = "target",
				.against_value = 10});
	bench_metric(r,
		     &(struct bench_metric){.metric = "cancel_terminal_ms_p99",
					    .unit = "ms",
					    .samples = &res[0].values,
					    .less_is_better = true,
					    .against = "target",
					    .against_value = 100});
	bench_metric(r,
		     &(struct bench_metric){.metric = "cancel_stubborn_ms_p99",
					    .unit = "ms",
					    .samples = &res[1].values,
					    .less_is_better = true,
					    .against = "grace time + 200",
					    .against_value = GRACE_MS + 200});
	bench_plot_waits(r, "From cancel to the terminal row", res, 2);
	return 0;
}

const struct bench bench_cancel = {
	.name = "cancel",
	.help = "from a cancel to the terminal row, among many active runs",
	.about = "Starts skepd with --active runs that sleep, and cancels them "
		 "one by one: the time from the request\nto the row with "
		 "the state cancelled, which is written after exit "
		 "verification. Then the\nsame with runs that ignore the "
		 "message and SIGTERM, with a grace period of 300 ms.",
	.options = (const struct bench_option[]){{"live", "N",
						  "runs alive; 1000"},
						 {0}},
	.seconds = 4,
	.rounds = 2,
	.run = run_cancel,
};
