/* The time from the request to the first committed event, and the number of
 * runs that can be started per second. */
#include "bench/load/run_load.h"
#include "bench/suites/start_baseline.h"
#include "lib/base/clock.h"

#include <stdio.h>
#include <time.h>

#define AGENTS 16

static int start_one(struct run_load *f, int i, struct histogram *wait,
		     struct err *e)
{
	struct sql *db;
	int64_t before, began;
	int rc;

	if (run_load_agent_open(f, i, &db, e))
		return -1;
	rc = events_seen(db, &before, e);
	began = clock_mono_ns();
	if (rc == 0)
		rc = run_load_submit(f, i, "[]", NULL, e);
	if (rc == 0)
		rc = events_await(db, before, e);
	if (rc == 0)
		histogram_add(wait, clock_mono_ns() - began);
	sql_close(db);
	return rc;
}

/* The file of every agent is created by a first run, which does not count. */
static int warm_up(struct run_load *f, struct bench_run *r, struct err *e)
{
	int64_t got;
	int rc;

	for (int i = 0; i < f->agents; i++)
		if (run_load_submit(f, i, "[]", NULL, e))
			return -1;
	rc = run_load_until(
		f, r, "SELECT count(*) FROM run WHERE ended_at IS NOT NULL",
		f->agents, 30, &got, e);
	return rc < 0 ? -1
	       : rc   ? 0
		      : err_set(e, ERR_TIMEOUT, "the first runs do not end");
}

static int measure_latency(struct bench_run *r, struct run_load *f,
			   struct bench_sample *out, struct err *e)
{
	int64_t began = clock_mono_ns();
	int64_t until = began + (int64_t)(bench_seconds(r) * 1e9);
	struct timespec gap = {0, 5000000};

	for (int i = f->agents; clock_mono_ns() < until && !bench_stopped(r);
	     i++) {
		if (start_one(f, i, &out->wait, e))
			return -1;
		out->operations++;
		nanosleep(&gap, NULL); /* the run ends meanwhile */
	}
	out->value = (double)histogram_at(&out->wait, 0.5) / 1e6;
	return 0;
}

static int measure_rate(struct bench_run *r, struct run_load *f,
			struct bench_sample *out, struct err *e)
{
	int64_t began = clock_mono_ns(), got = 0;
	int64_t until = began + (int64_t)(bench_seconds(r) * 1e9);
	int n = f->agents;

	while (clock_mono_ns() < until && !bench_stopped(r))
		if (run_load_submit(f, n++, "[]", NULL, e))
			return -1;
	if (run_load_until(
		    f, r, "SELECT count(*) FROM run WHERE ended_at IS NOT NULL",
		    n, 60, &got, e) < 0)
		return -1;
	out->operations = got - f->agents;
	out->value = (double)out->operations * 1e9 /
		     (double)(clock_mono_ns() - began);
	return 0;
}

typedef int measurer(struct bench_run *r, struct run_load *f,
		     struct bench_sample *out, struct err *e);

static int measure_start(struct bench_run *r, measurer *how,
			 struct bench_sample *out, struct err *e)
{
	const char *dir = bench_dir(r, "start");
	struct run_load f;
	int rc = run_load_start(&f, dir, AGENTS, 512, e);

	if (rc)
		return -1;
	rc = warm_up(&f, r, e) ? -1 : how(r, &f, out, e);
	run_load_stop(&f);
	bench_dir_remove(r, dir);
	return rc;
}

static int latency(struct bench_run *r, void *arg, struct bench_sample *out,
		   struct err *e)
{
	(void)arg;
	return measure_start(r, measure_latency, out, e);
}

static int rate(struct bench_run *r, void *arg, struct bench_sample *out,
		struct err *e)
{
	(void)arg;
	return measure_start(r, measure_rate, out, e);
}

/* --- the supervisor itself --------------------------------------------- */

static const char many_agents[] =
	"INSERT INTO agent (name, driver, version, digest, source, created_at, "
	"updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
	"FROM n WHERE i < 10000) SELECT 'agent' || i, 'script', 1, 'd', "
	"'command', 0, 0 FROM n";

static int register_agents(const char *dir, struct err *e)
{
	char path[700];
	struct sql *db;
	int rc;

	snprintf(path, sizeof path, "%s/home/state/skep.sqlite", dir);
	if (sql_open(&db, path, NULL, 0, e))
		return -1;
	rc = sql_script(db, many_agents, e);
	sql_close(db);
	return rc;
}

/* From fork and exec to its first answer, repeatedly. */
static int measure_ready(struct bench_run *r, const char *dir,
			 struct bench_sample *out, struct err *e)
{
	int64_t until = clock_mono_ns() + (int64_t)(bench_seconds(r) * 1e9);
	struct test_daemon h;

	if (test_daemon_start(&h, dir, e))
		return -1;
	test_daemon_stop(&h);
	if (register_agents(dir, e))
		return -1;
	do {
		int64_t began = clock_mono_ns();

		if (test_daemon_start(&h, dir, e))
			return -1;
		histogram_add(&out->wait, clock_mono_ns() - began);
		out->operations++;
		test_daemon_stop(&h);
	} while (clock_mono_ns() < until && !bench_stopped(r));
	out->value = (double)histogram_at(&out->wait, 0.5) / 1e6;
	return 0;
}

static int ready(struct bench_run *r, void *arg, struct bench_sample *out,
		 struct err *e)
{
	const char *dir = bench_dir(r, "ready");
	int rc = measure_ready(r, dir, out, e);

	(void)arg;
	bench_dir_remove(r, dir);
	return rc;
}

static int run_start(struct bench_run *r, struct err *e)
{
	struct bench_case cases[] = {{"one after the other", latency, NULL},
				     {"as fast as asked", rate, NULL},
				     {"the supervisor", ready, NULL},
				     {"the floor", baseline_starts, NULL}};
	static struct bench_result res[4];

	if (bench_interleave(r, cases, 4, res, e))
		return -1;
	if (res[0].values.n == 0 || res[1].values.n == 0 ||
	    res[2].values.n == 0 || res[3].values.n == 0)
		return 0;
	bench_metric(r, &(struct bench_metric){.metric = "first_commit_ms_p50",
					       .unit = "ms",
					       .samples = &res[0].values,
					       .less_is_better = true,
					       .against = "target",
					       .against_value = 4});
	bench_metric(
		r,
		&(struct bench_metric){
			.metric = "first_commit_ms_p99",
			.unit = "ms",
			.value = (double)histogram_at(&res[0].wait, 0.99) / 1e6,
			.less_is_better = true,
			.against = "target",
			.against_value = 20});
	bench_metric(r, &(struct bench_metric){.metric = "starts_per_s",
					       .unit = "1/s",
					       .samples = &res[1].values,
					       .against = "target",
					       .against_value = 200});
	bench_metric(r, &(struct bench_metric){.metric = "ready_ms_p50",
					       .unit = "ms",
					       .samples = &res[2].values,
					       .less_is_better = true,
					       .against = "target",
					       .against_value = 50});
	/* The baseline is not a target: it has no request, no rows, no
	 * supervision. */
	bench_metric(r, &(struct bench_metric){.metric = "floor_ms_p50",
					       .unit = "ms",
					       .samples = &res[3].values,
					       .less_is_better = true});
	bench_plot_waits(r, "From request to first committed event", res, 1);
	return 0;
}

const struct bench bench_start = {
	.name = "start",
	.help = "from a request to the first committed event of its worker",
	.about = "Starts skepd and asks over the unix socket for runs that do "
		 "nothing, in sessions of their own,\nof 16 agents whose files "
		 "exist. First one after the other: the time from the request "
		 "to the\nfirst event in the agent's file, as another process "
		 "sees it. Then as fast as one connection\ncan ask: runs a "
		 "second, to their end. And the time from skepd's exec to its "
		 "first answer, with\n10,000 agents registered. The floor is a "
		 "bare "
		 "fork that opens a file and commits.",
	.seconds = 3,
	.rounds = 3,
	.run = run_start,
};
