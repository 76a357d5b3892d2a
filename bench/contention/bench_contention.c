/* SQLite with several writing processes: layouts over numbers of writers, then
 * one parameter at a time. */
#include "bench/contention/contention.h"
#include "bench/contention/contention_report.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 96

struct plan {
	struct point *points;
	size_t n;
	struct workload work;
};

static void add_point(struct plan *p, const char *section, const char *label,
		      struct setting s)
{
	struct point *at = &p->points[p->n];

	if (p->n == POINTS_MAX)
		return;
	*at = (struct point){.section = section, .s = s};
	snprintf(at->label, sizeof at->label, "%s", label);
	p->n++;
}

/* "1,2,4" into out; returns how many, or -1. */
static int read_list(const char *text, int *out, int max, struct err *e)
{
	int n = 0;

	while (*text) {
		size_t len = strcspn(text, ",");
		char word[16];
		int64_t v;

		snprintf(word, sizeof word, "%.*s", (int)len, text);
		if (n == max ||
		    text_i64("--processes", word, 1, WRITERS_MAX, &v, e))
			return n == max
				       ? err_set(e, ERR_USAGE,
						 "--processes: at most %d", max)
				       : -1;
		out[n++] = (int)v;
		text += len + (text[len] == ',');
	}
	return n;
}

static int plan_scaling(struct bench_run *r, struct plan *p, struct err *e)
{
	const char *text = bench_option(r, "processes");
	const char *only = bench_option(r, "layout");
	int counts[16], n;

	n = read_list(text                ? text
		      : bench_is_quick(r) ? "1,2"
					  : "1,2,4,8,16,32,64",
		      counts, 16, e);
	if (n < 0)
		return -1;
	for (int l = 0; l < LAYOUTS; l++) {
		const char *name = layout_name((enum layout)l);

		if (only && strcmp(only, name) != 0)
			continue;
		/* its clients have no connection to read with */
		if (l == LAYOUT_group && workload_is_mixed(&p->work))
			continue;
		for (int i = 0; i < n; i++)
			add_point(p, SECTION_SCALING, name,
				  (struct setting){.layout = (enum layout)l,
						   .processes = counts[i],
						   .work = p->work});
	}
	return p->n > 0 ? 0
			: err_set(e, ERR_USAGE, "there is no layout '%s'",
				  quoted(only).text);
}

static const struct {
	const char *section;
	const char *label;
	enum layout layout;
	int64_t batch; /* 0: from the workload */
	const char *pragmas;
	bool retry;
} changes[] = {
	{SECTION_BATCH, "own, 1 event", LAYOUT_own, 1, NULL, false},
	{SECTION_BATCH, "own, 8 events", LAYOUT_own, 8, NULL, false},
	{SECTION_BATCH, "own, 64 events", LAYOUT_own, 64, NULL, false},
	{SECTION_BATCH, "shared, 1 event", LAYOUT_shared, 1, NULL, false},
	{SECTION_BATCH, "shared, 8 events", LAYOUT_shared, 8, NULL, false},
	{SECTION_BATCH, "shared, 64 events", LAYOUT_shared, 64, NULL, false},
	{SECTION_SYNC, "own, NORMAL", LAYOUT_own, 0, NULL, false},
	{SECTION_SYNC, "own, FULL", LAYOUT_own, 0, "PRAGMA synchronous=FULL",
	 false},
	{SECTION_SYNC, "shared, NORMAL", LAYOUT_shared, 0, NULL, false},
	{SECTION_SYNC, "shared, FULL", LAYOUT_shared, 0,
	 "PRAGMA synchronous=FULL", false},
	{SECTION_SYNC, "group, FULL", LAYOUT_group, 0,
	 "PRAGMA synchronous=FULL", false},
	{SECTION_CHECKPOINT, "every 100 pages", LAYOUT_shared, 0,
	 "PRAGMA wal_autocheckpoint=100", false},
	{SECTION_CHECKPOINT, "every 1000 pages", LAYOUT_shared, 0,
	 "PRAGMA wal_autocheckpoint=1000", false},
	{SECTION_CHECKPOINT, "every 4000 pages", LAYOUT_shared, 0,
	 "PRAGMA wal_autocheckpoint=4000", false},
	{SECTION_CHECKPOINT, "never", LAYOUT_shared, 0,
	 "PRAGMA wal_autocheckpoint=0", false},
	{SECTION_BUSY, "busy_timeout", LAYOUT_plain_shared, 0, NULL, false},
	{SECTION_BUSY, "retry", LAYOUT_plain_shared, 0, "PRAGMA busy_timeout=0",
	 true},
	{SECTION_BUSY, "write queue", LAYOUT_shared, 0, NULL, false},
};

/* Many agents that mostly wait: the cost of their commits. */
static void plan_paced(struct bench_run *r, struct plan *p)
{
	static const enum layout layouts[] = {LAYOUT_own, LAYOUT_plain_own};

	for (size_t i = 0; i < 2; i++) {
		struct setting s = {.layout = layouts[i],
				    .processes = bench_is_quick(r) ? 2 : 64,
				    .work = p->work};

		s.work.think_us = 1000000 / PACE_PER_S;
		add_point(p, SECTION_PACED, layout_name(layouts[i]), s);
	}
}

static void plan_changes(struct bench_run *r, struct plan *p)
{
	int writers = bench_is_quick(r) ? 2 : 8;

	if (bench_option(r, "layout"))
		return;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		struct setting s = {.layout = changes[i].layout,
				    .processes = writers,
				    .work = p->work,
				    .pragmas = changes[i].pragmas,
				    .retry = changes[i].retry};

		if (s.layout == LAYOUT_group && workload_is_mixed(&s.work))
			continue;
		if (changes[i].batch)
			s.work.batch = changes[i].batch;
		add_point(p, changes[i].section, changes[i].label, s);
	}
}

static void add_outcome(struct point *p, const struct outcome *o,
			struct usage u)
{
	samples_add(&p->rate, o->events_per_s);
	samples_add(&p->fairness, o->fairness);
	samples_add(&p->p99_ms, (double)histogram_at(&o->wait, 0.99) / 1e6);
	histogram_merge(&p->wait, &o->wait);
	for (int i = 0; i < OPERATIONS; i++)
		histogram_merge(&p->other[i], &o->other[i]);
	p->seconds += o->seconds;
	p->events += o->events_per_s * o->seconds;
	p->usage.cpu_s += u.cpu_s;
	p->usage.switches += u.switches;
	p->usage.written += u.written;
	p->busy += o->busy;
	p->starved += o->starved;
	if (o->wal_peak_mb > p->wal_peak_mb)
		p->wal_peak_mb = o->wal_peak_mb;
	p->last = *o;
}

static int measure_all(struct bench_run *r, struct plan *p, struct err *e)
{
	struct outcome *o = calloc(1, sizeof *o);
	size_t total = p->n * (size_t)bench_rounds(r), done = 0;
	struct usage before;
	int rc = 0;

	if (!o)
		abort();
	for (int round = 0; round < bench_rounds(r) && !rc; round++)
		for (size_t i = 0; i < p->n && !rc && !bench_stopped(r); i++) {
			struct point *at =
				&p->points[(i + (size_t)round * 7) % p->n];

			bench_progress(r, at->label, (double)done++,
				       (double)total);
			before = bench_usage();
			rc = contention_measure(r, &at->s, o, e);
			if (rc)
				err_wrap(e, "%s, %d writers", at->label,
					 at->s.processes);
			else if (!bench_stopped(r))
				add_outcome(at, o, bench_usage_since(before));
		}
	free(o);
	return rc;
}

static int run_contention(struct bench_run *r, struct err *e)
{
	struct plan p = {.work = WORKLOAD_DEFAULT};
	const char *file = bench_option(r, "workload");
	int rc;

	if (file && workload_load(file, &p.work, e))
		return -1;
	p.points = calloc(POINTS_MAX, sizeof *p.points);
	if (!p.points)
		abort();
	rc = plan_scaling(r, &p, e);
	if (!rc) {
		plan_changes(r, &p);
		plan_paced(r, &p);
		rc = measure_all(r, &p, e);
	}
	if (!rc)
		contention_report(r, p.points, p.n);
	free(p.points);
	return rc;
}

const struct bench bench_contention = {
	.name = "contention",
	.help = "several processes writing at once: layouts, tails, fairness",
	.about =
		"Forks 1 to N writers and lets each commit 500-byte events as "
		"fast as it can:\n"
		"  own           a file each: one agent per run\n"
		"  shared        several runs on one agent: one file, writers "
		"wait in a queue\n"
		"  group         one file, one writer process that commits for "
		"all\n"
		"  plain_own     the reference tables, a file each\n"
		"  plain_shared  the reference tables, one file, SQLite's own "
		"busy_timeout\n"
		"Then, with 8 writers, one thing at a time is changed: events "
		"a commit, synchronous,\nwhen the WAL is checkpointed, how a "
		"writer waits. What was acknowledged is read back.\n\n"
		"A workload file is JSON, every member by choice:\n"
		"  {\"mix\": {\"append\": 8, \"tail\": 1, \"patch\": 1}, "
		"\"batch\": 1,\n   \"bytes\": [200, 500, 4000], "
		"\"think_ms\": 0, \"sessions\": 1}\n"
		"append commits `batch` events of these sizes in turn, tail "
		"reads the last 50 events,\npatch changes the session's row; "
		"a writer works on its sessions in turn.",
	.options =
		(const struct bench_option[]){
			{"processes", "LIST", "numbers of writers: 1,2,4 … 64"},
			{"layout", "NAME", "only this layout, and no changes"},
			{"workload", "FILE", "what a writer does, as JSON"},
			{0}},
	.seconds = 0.5,
	.rounds = 3,
	.run = run_contention,
};
