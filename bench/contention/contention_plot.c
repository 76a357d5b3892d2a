/* The curves over the number of writers, and the pictures of contention. */
#include "bench/contention/contention_report.h"

#include <stdio.h>
#include <string.h>

void contention_trace(const struct point *points, size_t n, enum layout l,
		      struct curve *c)
{
	c->n = 0;
	for (size_t i = 0; i < n && c->n < CURVE_MAX; i++) {
		const struct point *p = &points[i];

		if (strcmp(p->section, SECTION_SCALING) != 0 ||
		    p->s.layout != l || p->rate.n == 0)
			continue;
		c->x[c->n] = p->s.processes;
		c->rates[c->n] = &p->rate;
		c->rate[c->n] = samples_median(&p->rate);
		c->p99[c->n] = samples_median(&p->p99_ms);
		c->fair[c->n++] = samples_median(&p->fairness);
	}
}

static void plot_curves(struct bench_run *r, const struct curve *curves)
{
	static const struct {
		const char *title;
		const char *y_label;
		enum plot_scale y_scale;
		size_t offset;
	} pictures[] = {
		{"Throughput over the number of writers", "events per second",
		 PLOT_LINEAR, offsetof(struct curve, rate)},
		{"99 of 100 commits take at most", "ms, logarithmic", PLOT_LOG,
		 offsetof(struct curve, p99)},
		{"Fairness: events of the slowest writer / the fastest", "",
		 PLOT_LINEAR, offsetof(struct curve, fair)},
	};

	for (size_t k = 0; k < sizeof pictures / sizeof pictures[0]; k++) {
		struct plot_series series[LAYOUTS];
		size_t used = 0;

		for (int l = 0; l < LAYOUTS; l++) {
			const char *at = (const char *)&curves[l];

			if (curves[l].n > 0)
				series[used++] = (struct plot_series){
					layout_what((enum layout)l),
					curves[l].x,
					(const double
						 *)(const void
							    *)(at +
							       pictures[k]
								       .offset),
					curves[l].n};
		}
		bench_plot(r, &(struct plot){.title = pictures[k].title,
					     .x_label = "writers",
					     .y_label = pictures[k].y_label,
					     .x_scale = PLOT_DOUBLING,
					     .y_scale = pictures[k].y_scale,
					     .series = series,
					     .nseries = used});
	}
}

/* Commits of the most crowded shared file, and its WAL, over time. */
static void plot_timeline(struct bench_run *r, const struct point *points,
			  size_t n)
{
	static double x[TIMELINE_MAX], events[TIMELINE_MAX], wal[TIMELINE_MAX];
	const struct point *p = NULL;
	size_t m;

	for (size_t i = 0; i < n; i++)
		if (points[i].s.layout == LAYOUT_shared &&
		    points[i].rate.n > 0 &&
		    (!p || points[i].s.processes > p->s.processes))
			p = &points[i];
	if (!p)
		return;
	m = p->last.moments;
	for (size_t i = 0; i < m; i++) {
		x[i] = (double)i * TIMELINE_MS / 1e3;
		events[i] = p->last.timeline[i].events;
		wal[i] = p->last.timeline[i].wal_mb * 10;
	}
	bench_plot(r, &(struct plot){
			      .title = "One shared file over time: commits, "
				       "and how the WAL grows and is emptied",
			      .x_label = "seconds",
			      .y_label = "",
			      .series =
				      (const struct plot_series[]){
					      {"events in 20 ms", x, events, m},
					      {"WAL, in 0.1 MB", x, wal, m}},
			      .nseries = 2});
}

static void plot_waits(struct bench_run *r, const struct point *points,
		       size_t n)
{
	static struct bench_result res[LAYOUTS];
	char title[96];
	int most = 0;
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		if (points[i].s.processes > most)
			most = points[i].s.processes;
	for (size_t i = 0; i < n && used < LAYOUTS; i++)
		if (points[i].s.processes == most &&
		    !strcmp(points[i].section, SECTION_SCALING))
			res[used++] = (struct bench_result){
				.name = layout_what(points[i].s.layout),
				.wait = points[i].wait};
	snprintf(title, sizeof title, "How long a commit takes, %d writers",
		 most);
	bench_plot_waits(r, title, res, used);
}

void contention_plot(struct bench_run *r, const struct point *points, size_t n,
		     const struct curve *curves)
{
	plot_curves(r, curves);
	plot_waits(r, points, n);
	plot_timeline(r, points, n);
}
