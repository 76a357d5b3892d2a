/* Appending ~500-byte events to a transcript, one transaction each, beside the
 * reference program, the baseline and a file of JSON lines. */
#include "bench/bench.h"
#include "bench/load/count_vfs.h"
#include "bench/load/events.h"
#include "bench/peers/better_sqlite3.h"
#include "bench/suites/store.h"
#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

enum { PAGES, SYNCS, BYTES }; /* of bench_sample.more, each per commit */

struct variant {
	const struct store_kind *kind;
	size_t batch; /* events per commit */
	int keyed;    /* every n-th event has an idempotency key; 0: none */
};

/* The first is ours; those up to PEERS are the ones to compare with. */
static const struct {
	const char *name;
	const struct store_kind *kind;
	size_t batch;
} table[] = {
	{"ours", &store_ours, 1},
	{"reference", &store_reference, 1},
	{"floor", &store_baseline, 1},
	{"jsonl", &store_jsonl, 1},
	{"redis", &store_redis, 1},
	{"postgres", &store_postgres, 1},
	{"postgres_async", &store_postgres_async, 1},
	{"better-sqlite3", NULL, 1}, /* measures itself */
	{"ours, 8 each", &store_ours, 8},
	{"ours, 64 each", &store_ours, 64},
	{"ours, FULL", &store_ours_full, 1},
};

static int fill_store(struct bench_run *r, const struct variant *v, void *store,
		      struct bench_sample *out, struct err *e)
{
	int64_t end = clock_mono_ns() + (int64_t)(bench_seconds(r) * 1e9);
	int64_t begin = clock_mono_ns(), now = begin;
	static struct event_source source; /* a megabyte */

	source.keyed = v->keyed;
	source.number = 0;
	while (now < end && !bench_stopped(r)) {
		const struct store_event *ev = events_next(&source, v->batch);
		int64_t before = clock_mono_ns();

		if (v->kind->append(store, ev, v->batch, e))
			return -1;
		now = clock_mono_ns();
		histogram_add(&out->wait, now - before);
		out->operations += (int64_t)v->batch;
	}
	out->value = (double)out->operations / ((double)(now - begin) / 1e9);
	return 0;
}

static void count_writes(struct bench_sample *out, struct disk_counts before)
{
	struct disk_counts c = count_vfs_since(before);
	double commits = (double)out->wait.n;

	out->more[PAGES] = (double)c.wal_pages / commits;
	out->more[SYNCS] = (double)c.syncs / commits;
	out->more[BYTES] = (double)c.bytes / commits;
}

static int measure_transcript(struct bench_run *r, void *arg,
			      struct bench_sample *out, struct err *e)
{
	const struct variant *v = arg;
	const char *dir = bench_dir(r, v->kind->name);
	struct disk_counts before;
	void *store;
	int rc;

	if (v->kind->open(&store, dir, "session-1", e))
		return -1;
	before = count_vfs_now();
	rc = fill_store(r, v, store, out, e);
	if (!rc) {
		count_writes(out, before);
		rc = events_verify(v->kind, store, out->operations, NULL, e);
	}
	v->kind->close(store);
	bench_dir_remove(r, dir);
	return rc;
}

static void describe(struct bench_run *r, const struct bench_result *res,
		     size_t n)
{
	const char *title = "one session, one writer";

	bench_table(r, title,
		    "store|events/s|±|p50 µs|p90|p99|p99.9|max|pages/commit|"
		    "syncs/commit|CPU µs/event");
	for (size_t i = 0; i < n; i++) {
		const struct histogram *h = &res[i].wait;
		char cpu[24] = "–"; /* that of others includes their start */

		if (res[i].values.n == 0)
			continue;
		if (table[i].kind && !table[i].kind->server)
			snprintf(cpu, sizeof cpu, "%.1f",
				 res[i].usage.cpu_s /
					 (double)res[i].operations * 1e6);
		bench_table(r, title,
			    "%s|%.0f|%.0f|%.1f|%.1f|%.1f|%.1f|%.0f|%.1f|%.3f|"
			    "%s",
			    res[i].name, samples_median(&res[i].values),
			    samples_spread(&res[i].values),
			    (double)histogram_at(h, 0.5) / 1e3,
			    (double)histogram_at(h, 0.9) / 1e3,
			    (double)histogram_at(h, 0.99) / 1e3,
			    (double)histogram_at(h, 0.999) / 1e3,
			    (double)h->max / 1e3,
			    samples_median(&res[i].more[PAGES]),
			    samples_median(&res[i].more[SYNCS]), cpu);
	}
}

static void explain(struct bench_run *r, const struct bench_result *ours,
		    const struct bench_result *reference,
		    const struct bench_result *lowest)
{
	double mine = samples_median(&ours->values);
	double theirs = samples_median(&reference->values);
	double floor = samples_median(&lowest->values);

	if (ours->values.n == 0 || theirs <= 0 || floor <= 0)
		return;
	bench_print(r,
		    "Our append is %.2f times as fast as the reference, and "
		    "reaches %.0f %% of what SQLite can commit at all (floor).",
		    mine / theirs, 100 * mine / floor);
	bench_print(
		r,
		"A commit of ours dirties %.1f pages, the reference's %.1f, "
		"the floor's %.1f: cost follows the pages that a commit "
		"writes.",
		samples_median(&ours->more[PAGES]),
		samples_median(&reference->more[PAGES]),
		samples_median(&lowest->more[PAGES]));
	bench_print(r, "Everything that was acknowledged was read back and was "
		       "the same.");
}

static void state_metrics(struct bench_run *r, const struct bench_result *ours,
			  const struct bench_result *others, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (others[i].values.n > 0 && ours->values.n > 0)
			bench_metric(r, &(struct bench_metric){
						.metric = "append_events_per_s",
						.unit = "1/s",
						.samples = &ours->values,
						.against = others[i].name,
						.against_value = samples_median(
							&others[i].values),
					});
	if (ours->p99_us.n > 0)
		bench_metric(r, &(struct bench_metric){
					.metric = "append_p99_us",
					.unit = "µs",
					.samples = &ours->p99_us,
					.less_is_better = true,
					.against = "limit",
					.against_value = 300,
				});
}

#define VARIANTS (sizeof table / sizeof table[0])
#define PEERS    8

static int run_transcript(struct bench_run *r, struct err *e)
{
	static struct bench_result res[VARIANTS];
	size_t n = bench_option(r, "variants") ? VARIANTS : PEERS;
	struct bench_case cases[VARIANTS];
	struct variant v[VARIANTS];

	count_vfs_install();
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct variant){table[i].kind, table[i].batch,
					(int)bench_option_i64(r, "keys", 1)};
		cases[i] = (struct bench_case){table[i].name,
					       table[i].kind
						       ? measure_transcript
						       : better_sqlite3_measure,
					       &v[i]};
	}
	if (bench_interleave(r, cases, n, res, e))
		return -1;
	describe(r, res, n);
	state_metrics(r, &res[0], res + 1, PEERS - 1);
	explain(r, &res[0], &res[1], &res[2]);
	bench_plot_waits(r, "How long an append takes", res, n);
	return 0;
}

const struct bench bench_transcript = {
	.name = "transcript",
	.help = "appending events to one session, one commit each",
	.about =
		"Appends 500-byte events to a new file, one transaction each, "
		"WAL, synchronous=NORMAL,\nand reads everything back:\n"
		"  ours       the worker's append: fence, session, idempotency "
		"key, parent, event\n"
		"  reference  plain tables with text ids and three indexes, "
		"cached statements\n"
		"  floor      one table, one insert, nothing checked\n"
		"  jsonl      a file of JSON lines, fdatasync after each\n"
		"  redis      Redis Streams with the same checks in Lua, AOF "
		"everysec\n"
		"  postgres   PostgreSQL, the same tables and checks in a "
		"function\n"
		"  postgres_async   the same with synchronous_commit=off\n"
		"  better-sqlite3   the reference program on Node",
	.options =
		(const struct bench_option[]){
			{"keys", "N",
			 "every N-th event has an idempotency key; 0: none"},
			{"variants", NULL,
			 "also 8 and 64 events a commit, and synchronous=FULL"},
			{0}},
	.seconds = 1,
	.rounds = 5,
	.run = run_transcript,
};
