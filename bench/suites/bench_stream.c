/* Thousands of followers of one run, with and without some that do not read. */
#include "bench/load/sse_load.h"

static void describe(struct bench_run *r, const struct bench_result *res,
		     const struct sse_load_options *loads)
{
	const char *title = "followers of one run, 10 events/s each";

	bench_table(r, title,
		    "followers|events/s|offered|p50 ms|p99|max|skepd MB|"
		    "skepd CPU|lost");
	for (int i = 0; i < 2; i++)
		bench_table(r, title,
			    "%d, %d of them asleep|%.0f|%d|%.0f|%.0f|%.0f|%.1f|"
			    "%.2f|%.0f",
			    loads[i].followers, loads[i].slow,
			    samples_median(&res[i].values),
			    (loads[i].followers - loads[i].slow) * 1000 /
				    SSE_LOAD_EVERY_MS,
			    (double)histogram_at(&res[i].wait, 0.5) / 1e6,
			    (double)histogram_at(&res[i].wait, 0.99) / 1e6,
			    (double)res[i].wait.max / 1e6,
			    samples_median(&res[i].more[SSE_LOAD_RSS_MB]),
			    samples_median(&res[i].more[SSE_LOAD_CPU]),
			    samples_median(&res[i].more[SSE_LOAD_LOST]));
	bench_print(r, "The reader is this process, on the same cores: its "
		       "CPU time is not available to skepd. Times are in whole "
		       "milliseconds, from the worker's commit to the reader.");
}

static double wait_ms(const struct bench_result *res, double part)
{
	return (double)histogram_at(&res->wait, part) / 1e6;
}

static void state_less(struct bench_run *r, const char *metric, double value,
		       const char *against, double other)
{
	bench_metric(r, &(struct bench_metric){.metric = metric,
					       .unit = "ms",
					       .value = value,
					       .less_is_better = true,
					       .against = against,
					       .against_value = other});
}

static void state_metrics(struct bench_run *r, const struct bench_result *res,
			  const struct sse_load_options *loads)
{
	const struct bench_result *all = &res[0], *some = &res[1];
	double offered = loads[0].followers * 1000.0 / SSE_LOAD_EVERY_MS;

	if (all->values.n == 0 || some->values.n == 0)
		return;
	bench_metric(r, &(struct bench_metric){.metric = "stream_events_per_s",
					       .unit = "1/s",
					       .samples = &all->values,
					       .against = "offered",
					       .against_value = offered});
	state_less(r, "stream_ms_p50", wait_ms(all, 0.5), "between two events",
		   SSE_LOAD_EVERY_MS);
	state_less(r, "stream_ms_p99", wait_ms(all, 0.99), "between two events",
		   SSE_LOAD_EVERY_MS);
	state_less(r, "stream_ms_p99_beside_slow", wait_ms(some, 0.99),
		   "no slow reader", wait_ms(all, 0.99));
	bench_metric(
		r, &(struct bench_metric){.metric = "stream_lost",
					  .unit = "",
					  .samples = &all->more[SSE_LOAD_LOST],
					  .less_is_better = true});
	bench_metric(r, &(struct bench_metric){
				.metric = "stream_rss_mb",
				.unit = "MB",
				.samples = &all->more[SSE_LOAD_RSS_MB],
				.less_is_better = true,
				.against = "a bare server",
				.against_value = 10});
}

static int run_stream(struct bench_run *r, struct err *e)
{
	int n = (int)bench_option_i64(r, "followers",
				      bench_is_quick(r) ? 100 : 4000);
	struct sse_load_options loads[] = {{n, 0}, {n, n / 10}};
	struct bench_case cases[] = {
		{"all read", sse_load_measure, &loads[0]},
		{"a tenth is asleep", sse_load_measure, &loads[1]}};
	static struct bench_result res[2];

	if (sse_load_raise_files(n, e) || bench_interleave(r, cases, 2, res, e))
		return -1;
	describe(r, res, loads);
	state_metrics(r, res, loads);
	bench_plot_waits(r, "From commit to reader", res, 2);
	return 0;
}

const struct bench bench_stream = {
	.name = "stream",
	.help = "thousands of followers of an active run",
	.about = "Starts skepd and a run that commits 10 events a second, and "
		 "follows it with --followers\nconnections on the unix socket; "
		 "each checks that it misses nothing. Then the same with\na "
		 "tenth of them never reading, who are dropped.",
	.options = (const struct bench_option[]){{"followers", "N",
						  "connections; 4000"},
						 {0}},
	.seconds = 5,
	.rounds = 3,
	.run = run_stream,
};
