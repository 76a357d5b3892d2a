/* How many workers one machine can run: increased in steps until it fails. */
#include "bench/load/run_load.h"
#include "lib/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define AGENTS       100
#define FIRST        250
#define STEPS        12
#define WAIT_SECONDS 600.0 /* seconds for a step */

static const char connected[] = "SELECT count(*) FROM run WHERE state = "
				"'running'";

struct density_search {
	double n[STEPS], worker_kb[STEPS], skepd_mb[STEPS], seconds[STEPS];
	size_t steps;
	char limit[200];
};

/* Starts up to n runs: 1, or 0 with the limit that was hit. */
static int start_runs(struct bench_run *r, struct run_load *f, int from, int to,
		      struct density_search *c, struct err *e)
{
	int64_t got = 0;
	int rc;

	for (int i = from; i < to && !bench_stopped(r); i++)
		if (run_load_submit(f, i, "[{\"sleep_ms\":3600000}]", NULL, e))
			return -1;
	rc = run_load_until(f, r, connected, to, WAIT_SECONDS, &got, e);
	if (rc == 0)
		(void)snprintf(c->limit, sizeof c->limit,
			       "%" PRId64 " of %d workers were up after %.0f s",
			       got, to, WAIT_SECONDS);
	return rc;
}

static int density_search(struct bench_run *r, struct run_load *f, int max,
			  struct density_search *c, struct err *e)
{
	int have = 0;

	for (int want = max < FIRST ? max : FIRST;
	     want <= max && c->steps < STEPS; want *= 2) {
		int64_t began = clock_mono_ns(), pss;
		int rc = start_runs(r, f, have, want, c, e);

		if (rc <= 0)
			return rc;
		pss = run_load_worker_pss(f, e);
		if (pss < 0)
			return -1;
		have = want;
		c->n[c->steps] = want;
		c->worker_kb[c->steps] = (double)pss / 1024;
		c->skepd_mb[c->steps] = (double)test_daemon_rss(&f->daemon) /
					1e6;
		c->seconds[c->steps++] = (double)(clock_mono_ns() - began) /
					 1e9;
		if (want < max && want * 2 > max)
			max = want; /* whole steps only */
	}
	(void)snprintf(c->limit, sizeof c->limit,
		       "only --max: the machine did not say no");
	return 0;
}

/* Its target is for 1,000 active workers. */
static double skepd_at_1000(const struct density_search *c)
{
	size_t i = c->steps - 1;

	while (i > 0 && c->n[i] > 1000)
		i--;
	return c->skepd_mb[i];
}

static void state(struct bench_run *r, const struct density_search *c)
{
	const char *title = "live idle workers, agent file open";
	size_t top = c->steps - 1;

	bench_table(r, title, "workers|PSS each, KB|skepd, MB|step took, s");
	for (size_t i = 0; i < c->steps; i++)
		bench_table(r, title, "%.0f|%.0f|%.1f|%.1f", c->n[i],
			    c->worker_kb[i], c->skepd_mb[i], c->seconds[i]);
	bench_print(r, "What limited it: %s.", c->limit);
	bench_metric(r, &(struct bench_metric){.metric = "live_workers",
					       .unit = "",
					       .value = c->n[top],
					       .against = "target",
					       .against_value = 1000});
	bench_metric(r, &(struct bench_metric){.metric = "worker_pss_kb",
					       .unit = "KB",
					       .value = c->worker_kb[top],
					       .less_is_better = true,
					       .against = "target",
					       .against_value = 2048});
	bench_metric(r, &(struct bench_metric){.metric = "supervisor_rss_mb",
					       .unit = "MB",
					       .value = skepd_at_1000(c),
					       .less_is_better = true,
					       .against = "target",
					       .against_value = 15});
}

static int run_density(struct bench_run *r, struct err *e)
{
	int max = (int)bench_option_i64(r, "max",
					bench_is_quick(r) ? 20 : 2000);
	const char *dir = bench_dir(r, "density");
	static struct density_search c;
	struct run_load f;
	int rc = run_load_start(&f, dir, AGENTS, max + 16, e);

	if (rc)
		return -1;
	rc = density_search(r, &f, max, &c, e);
	run_load_stop(&f);
	bench_dir_remove(r, dir);
	if (rc == 0 && c.steps > 0)
		state(r, &c);
	return rc;
}

const struct bench bench_density = {
	.name = "density",
	.help = "how many live workers the machine holds",
	.about = "Starts skepd and runs that sleep, 250 at first and twice as "
		 "many with every step, up to --max or\nuntil a start fails, "
		 "and "
		 "prints the limit that was hit. Memory of a worker is PSS: "
		 "shared pages are\ndivided among the processes that share "
		 "them.",
	.options = (const struct bench_option[]){{"max", "N",
						  "go no further; 2000"},
						 {0}},
	.seconds = 1,
	.rounds = 1,
	.run = run_density,
};
