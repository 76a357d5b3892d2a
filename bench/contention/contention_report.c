/* Tables, metrics and sentences about contention. */
#include "bench/contention/contention_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

static double ms_at(const struct point *p, double q)
{
	return (double)histogram_at(&p->wait, q) / 1e6;
}

static void print_row(struct bench_run *r, const struct point *p)
{
	if (p->rate.n == 0)
		return;
	bench_table(r, p->section,
		    "%s|%d|%.0f|%.0f|%.3f|%.2f|%.1f|%.0f|%.2f|%" PRId64
		    "|%" PRId64 "|%.1f",
		    p->label, p->s.processes, samples_median(&p->rate),
		    samples_spread(&p->rate), ms_at(p, 0.5), ms_at(p, 0.99),
		    ms_at(p, 0.999), (double)p->wait.max / 1e6,
		    samples_median(&p->fairness), p->busy, p->starved,
		    p->wal_peak_mb);
}

static void print_tables(struct bench_run *r, const struct point *points,
			 size_t n)
{
	const char *last = "";

	for (size_t i = 0; i < n; i++) {
		if (strcmp(points[i].section, last) != 0)
			bench_table(r, points[i].section,
				    "layout|writers|events/s|±|p50 ms|p99|"
				    "p99.9|max|slowest/fastest|BUSY|starved|"
				    "WAL MB");
		last = points[i].section;
		print_row(r, &points[i]);
	}
}

static void print_usage(struct bench_run *r, const struct point *points,
			size_t n)
{
	const char *title = "what an event took, getting ready and reading "
			    "back included";

	bench_table(r, title,
		    "layout|writers|CPU µs|context switches|bytes to the disk");
	for (size_t i = 0; i < n; i++) {
		const struct point *p = &points[i];

		if (p->events > 0)
			bench_table(r, title, "%s|%d|%.1f|%.3f|%.0f", p->label,
				    p->s.processes,
				    p->usage.cpu_s * 1e6 / p->events,
				    (double)p->usage.switches / p->events,
				    (double)p->usage.written / p->events);
	}
}

/* A writer that fills the WAL copies it back, and all others wait. */
static void print_checkpoints(struct bench_run *r, const struct point *points,
			      size_t n)
{
	const struct point *often = NULL, *never = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(points[i].section, SECTION_CHECKPOINT) != 0 ||
		    points[i].rate.n == 0)
			continue;
		often = often ? often : &points[i];
		never = &points[i];
	}
	if (!often || often == never)
		return;
	bench_print(
		r,
		"Checkpoints delay commits: %s, 1 of 1,000 "
		"commits takes over %.1f ms, the longest %.0f ms, and the WAL "
		"stays at %.1f MB; without any it is %.1f ms and %.0f ms, "
		"and the WAL grows to %.0f MB.",
		often->label, ms_at(often, 0.999),
		(double)often->wait.max / 1e6, often->wal_peak_mb,
		ms_at(never, 0.999), (double)never->wait.max / 1e6,
		never->wal_peak_mb);
}

/* The operations of a mixed workload besides appending. */
static void print_others(struct bench_run *r, const struct point *points,
			 size_t n)
{
	const char *title = "operations beside the appends";
	bool any = false;

	for (size_t i = 0; i < n; i++)
		for (int o = 0; o < OPERATIONS; o++) {
			const struct histogram *h = &points[i].other[o];

			if (h->n == 0)
				continue;
			if (!any)
				bench_table(r, title,
					    "layout|writers|operation|per s|"
					    "p50 ms|p99|max");
			any = true;
			bench_table(r, title, "%s|%d|%s|%.0f|%.3f|%.2f|%.1f",
				    points[i].label, points[i].s.processes,
				    operation_name((enum operation)o),
				    (double)h->n / points[i].seconds,
				    (double)histogram_at(h, 0.5) / 1e6,
				    (double)histogram_at(h, 0.99) / 1e6,
				    (double)h->max / 1e6);
		}
}

/* --- words -------------------------------------------------------------- */

/* The knee of the curve: the fewest writers with 90 % of the maximum. */
static size_t bend_of(const struct curve *c)
{
	double most = 0;
	size_t i = 0;

	for (size_t k = 0; k < c->n; k++)
		most = c->rate[k] > most ? c->rate[k] : most;
	while (i + 1 < c->n && c->rate[i] < 0.9 * most)
		i++;
	return i;
}

static void print_own(struct bench_run *r, const struct curve *c)
{
	size_t at = bend_of(c), last = c->n - 1;

	if (c->n < 2)
		return;
	bench_print(
		r,
		"A file each: %.0f events/s alone, %.0f with %.0f writers. "
		"The curve bends at %.0f, because this machine has %d cores "
		"and a commit is CPU work as long as nothing waits for the "
		"disk; writers of different files do not know of each other.",
		c->rate[0], c->rate[last], c->x[last], c->x[at], get_nprocs());
}

static void print_shared(struct bench_run *r, const struct curve *c,
			 const struct curve *plain)
{
	size_t last = c->n - 1;

	if (c->n < 2)
		return;
	bench_print(
		r,
		"One file: SQLite lets one writer in at a time, so %.0f "
		"writers together commit %.0f events/s, %.2f times what one "
		"alone does (%.0f). More writers only wait longer: p99 goes "
		"from %.2f to %.1f ms.",
		c->x[last], c->rate[last], c->rate[last] / c->rate[0],
		c->rate[0], c->p99[0], c->p99[last]);
	if (plain->n != c->n)
		return;
	bench_print(
		r,
		"Who waits how matters: with SQLite's own waiting (it sleeps "
		"and looks again) the slowest of %.0f writers gets %.0f %% "
		"of what the fastest gets, and p99 is %.1f ms; standing in "
		"line it gets %.0f %%, and p99 is %.1f ms.",
		c->x[last], plain->fair[last] * 100, plain->p99[last],
		c->fair[last] * 100, c->p99[last]);
}

static void print_group(struct bench_run *r, const struct point *points,
			size_t n, const struct curve *c,
			const struct curve *shared)
{
	size_t last = c->n - 1;

	if (c->n < 2 || shared->n != c->n)
		return;
	bench_print(
		r,
		"One process that commits for all (group commit) reaches "
		"%.0f events/s with %.0f writers, %.2f times the same "
		"writers in line: a commit carries what came meanwhile, but "
		"every event crosses a socket twice.",
		c->rate[last], c->x[last], c->rate[last] / shared->rate[last]);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(points[i].label, "group, FULL") &&
		    points[i].rate.n > 0)
			bench_print(r,
				    "With synchronous=FULL every commit waits "
				    "for the disk; there %.1f events share one "
				    "commit.",
				    points[i].last.commits_per_sync);
}

static void print_ratios(struct bench_run *r, const struct curve *ours,
			 const struct curve *plain, const char *what)
{
	for (size_t i = 0; i < ours->n && i < plain->n; i++) {
		char name[64];

		snprintf(name, sizeof name, "%s_events_per_s_%.0f", what,
			 ours->x[i]);
		bench_metric(r, &(struct bench_metric){
					.metric = name,
					.unit = "1/s",
					.samples = ours->rates[i],
					.against = "reference",
					.against_value = plain->rate[i]});
	}
}

static void print_paced(struct bench_run *r, const struct point *points,
			size_t n)
{
	const struct point *ours = NULL, *plain = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(points[i].section, SECTION_PACED) != 0 ||
		    points[i].rate.n == 0)
			continue;
		if (points[i].s.layout == LAYOUT_own)
			ours = &points[i];
		else
			plain = &points[i];
	}
	if (!ours || !plain)
		return;
	for (int k = 0; k < 2; k++)
		bench_metric(
			r,
			&(struct bench_metric){
				.metric = "paced_p99_ms",
				.unit = "ms",
				.samples = &ours->p99_ms,
				.less_is_better = true,
				.against = k ? "limit" : "reference",
				.against_value = k ? 0.5
						   : samples_median(
							     &plain->p99_ms)});
	bench_print(r,
		    "%d writers with a file each that commit %d times a second "
		    "wait %.2f ms at most for 99 of 100 commits; on the "
		    "reference tables %.2f ms.",
		    ours->s.processes, PACE_PER_S,
		    samples_median(&ours->p99_ms),
		    samples_median(&plain->p99_ms));
}

static void print_fairness(struct bench_run *r, const struct point *points,
			   size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct point *p = &points[i];
		char name[64];

		if (p->s.layout != LAYOUT_shared || p->rate.n == 0 ||
		    strcmp(p->section, SECTION_SCALING) != 0 ||
		    p->s.processes < 2)
			continue;
		snprintf(name, sizeof name, "shared_fairness_%d",
			 p->s.processes);
		bench_metric(r, &(struct bench_metric){.metric = name,
						       .unit = "ratio",
						       .samples = &p->fairness,
						       .against = "limit",
						       .against_value = 0.5});
		snprintf(name, sizeof name, "shared_busy_%d", p->s.processes);
		bench_metric(r, &(struct bench_metric){.metric = name,
						       .unit = "errors",
						       .value = (double)p->busy,
						       .less_is_better = true});
	}
}

void contention_report(struct bench_run *r, const struct point *points,
		       size_t n)
{
	struct curve curves[LAYOUTS];

	for (int l = 0; l < LAYOUTS; l++)
		contention_trace(points, n, (enum layout)l, &curves[l]);
	print_tables(r, points, n);
	print_others(r, points, n);
	print_usage(r, points, n);
	print_ratios(r, &curves[LAYOUT_own], &curves[LAYOUT_plain_own], "own");
	print_ratios(r, &curves[LAYOUT_shared], &curves[LAYOUT_plain_shared],
		     "shared");
	print_fairness(r, points, n);
	print_own(r, &curves[LAYOUT_own]);
	print_shared(r, &curves[LAYOUT_shared], &curves[LAYOUT_plain_shared]);
	print_group(r, points, n, &curves[LAYOUT_group],
		    &curves[LAYOUT_shared]);
	print_checkpoints(r, points, n);
	print_paced(r, points, n);
	contention_plot(r, points, n, curves);
}
