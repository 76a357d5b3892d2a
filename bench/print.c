/* Collects the results of benchmarks for the terminal and the report. */
#include "bench/harness.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static char *format(struct bench_run *r,
							  const char *fmt,
							  va_list ap)
{
	struct buf b = BUF_MAX(16384);
	char *text;

	buf_vaddf(&b, fmt, ap);
	text = arena_text(&r->arena, b.p);
	buf_fini(&b);
	return text;
}

static double ratio_of(const struct bench_metric *m, double value)
{
	double against = m->against_value;

	if (!m->against || value <= 0 || against <= 0)
		return 0;
	return m->less_is_better ? against / value : value / against;
}

void bench_metric(struct bench_run *r, const struct bench_metric *m)
{
	struct kept_metric *k = arena_alloc(&r->arena, sizeof *k);

	k->bench = r->bench->name;
	k->m = *m;
	k->m.metric = arena_text(&r->arena, m->metric);
	k->m.unit = arena_text(&r->arena, m->unit);
	k->m.against = arena_text(&r->arena, m->against);
	k->value = m->value;
	if (m->samples) {
		k->m.samples = arena_copy(&r->arena, m->samples,
					  sizeof *m->samples);
		k->value = samples_median(m->samples);
		k->spread = samples_spread(m->samples);
	}
	if (k->spread > NOISE * fabs(k->value))
		r->noisy = true;
	k->ratio = ratio_of(m, k->value);
	*r->now->metrics_end = k;
	r->now->metrics_end = &k->next;
	output_metric(r, k);
}

void bench_print(struct bench_run *r, const char *fmt, ...)
{
	struct kept_text *k = arena_alloc(&r->arena, sizeof *k);
	va_list ap;

	va_start(ap, fmt);
	k->text = format(r, fmt, ap);
	va_end(ap);
	*r->now->notes_end = k;
	r->now->notes_end = &k->next;
}

static struct kept_table *table_named(struct bench_run *r, const char *title)
{
	struct kept_table *t = r->now->tables;

	while (t && strcmp(t->title, title) != 0)
		t = t->next;
	if (t)
		return t;
	t = arena_alloc(&r->arena, sizeof *t);
	t->title = arena_text(&r->arena, title);
	t->end = &t->rows;
	*r->now->tables_end = t;
	r->now->tables_end = &t->next;
	return t;
}

void bench_table(struct bench_run *r, const char *title, const char *fmt, ...)
{
	struct kept_table *t = table_named(r, title);
	struct kept_row *row = arena_alloc(&r->arena, sizeof *row);
	va_list ap;

	va_start(ap, fmt);
	row->cells = format(r, fmt, ap);
	va_end(ap);
	*t->end = row;
	t->end = &row->next;
}

void bench_plot(struct bench_run *r, const struct plot *p)
{
	struct kept_plot *k = arena_alloc(&r->arena, sizeof *k);
	struct plot_series *series = arena_copy(&r->arena, p->series,
						p->nseries * sizeof *p->series);

	k->plot = *p;
	k->plot.title = arena_text(&r->arena, p->title);
	k->plot.x_label = arena_text(&r->arena, p->x_label);
	k->plot.y_label = arena_text(&r->arena, p->y_label);
	for (size_t i = 0; i < p->nseries; i++) {
		size_t bytes = p->series[i].n * sizeof(double);

		series[i].name = arena_text(&r->arena, p->series[i].name);
		series[i].x = arena_copy(&r->arena, p->series[i].x, bytes);
		series[i].y = arena_copy(&r->arena, p->series[i].y, bytes);
	}
	k->plot.series = series;
	*r->now->plots_end = k;
	r->now->plots_end = &k->next;
}

struct curve {
	double *x;
	double *y;
	size_t n;
};

static void add_point(void *arg, int64_t ns, double share)
{
	struct curve *c = arg;

	c->x[c->n] = (double)ns / 1e3;
	c->y[c->n++] = share * 100;
}

void bench_plot_waits(struct bench_run *r, const char *title,
		      const struct bench_result *results, size_t n)
{
	struct plot_series series[16];
	size_t used = 0;

	assert(n <= 16);
	for (size_t i = 0; i < n; i++) {
		size_t bytes = HISTOGRAM_BUCKETS * sizeof(double);
		struct curve c = {0};

		if (results[i].wait.n == 0)
			continue;
		c.x = arena_alloc(&r->arena, bytes);
		c.y = arena_alloc(&r->arena, bytes);
		histogram_walk(&results[i].wait, add_point, &c);
		series[used++] = (struct plot_series){results[i].name, c.x, c.y,
						      c.n};
	}
	bench_plot(r, &(struct plot){.title = title,
				     .x_label = "µs, logarithmic",
				     .y_label = "% of operations",
				     .x_scale = PLOT_LOG,
				     .series = series,
				     .nseries = used});
}
