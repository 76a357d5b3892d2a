#include "lib/http/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const double bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01,
				0.025,  0.05,  0.1,    0.25,  0.5,
				1,      2.5,   5,      10,    30};
#define NBOUNDS (sizeof bounds / sizeof bounds[0])

struct series {
	char *label; /* NULL: the metric has none */
	double value;
	double sum; /* histograms */
	unsigned long *buckets;
};

struct family {
	struct series *series;
	size_t n;
};

struct metrics {
	const struct metric *table;
	size_t n;
	struct family families[];
};

struct metrics *metrics_new(const struct metric *table, size_t n)
{
	struct metrics *m = calloc(1, sizeof *m + n * sizeof m->families[0]);

	if (!m)
		abort();
	m->table = table;
	m->n = n;
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = 0; k < m->families[i].n; k++) {
			free(m->families[i].series[k].label);
			free(m->families[i].series[k].buckets);
		}
		free(m->families[i].series);
	}
	free(m);
}

static struct series *lookup(const struct metrics *m, size_t id,
			     const char *label)
{
	const struct family *f = &m->families[id];

	assert(id < m->n);
	assert(!label == !m->table[id].label);
	for (size_t i = 0; i < f->n; i++)
		if (!label || strcmp(f->series[i].label, label) == 0)
			return &f->series[i];
	return NULL;
}

static struct series *series_of(struct metrics *m, size_t id, const char *label)
{
	struct family *f = &m->families[id];
	struct series *s = lookup(m, id, label);

	if (s)
		return s;
	if (f->n == METRIC_SERIES) /* the last slot is for all others */
		return &f->series[METRIC_SERIES - 1];
	if (label && f->n == METRIC_SERIES - 1)
		label = "other";
	f->series = realloc(f->series, (f->n + 1) * sizeof *s);
	if (!f->series)
		abort();
	s = &f->series[f->n++];
	*s = (struct series){.label = label ? strdup(label) : NULL};
	if (m->table[id].kind == METRIC_HISTOGRAM)
		s->buckets = calloc(NBOUNDS, sizeof *s->buckets);
	return s;
}

void metrics_add(struct metrics *m, size_t id, const char *label, double by)
{
	assert(m->table[id].kind != METRIC_HISTOGRAM);
	series_of(m, id, label)->value += by;
}

void metrics_set(struct metrics *m, size_t id, const char *label, double to)
{
	assert(m->table[id].kind == METRIC_GAUGE);
	series_of(m, id, label)->value = to;
}

void metrics_observe(struct metrics *m, size_t id, const char *label,
		     double seconds)
{
	struct series *s = series_of(m, id, label);

	assert(m->table[id].kind == METRIC_HISTOGRAM);
	s->value++;
	s->sum += seconds;
	for (size_t i = 0; i < NBOUNDS; i++)
		if (seconds <= bounds[i])
			s->buckets[i]++;
}

/* name{label="value",le="0.5"}: the value of a label may be anything. */
static void write_key(struct buf *out, const struct metric *def,
		      const char *suffix, const char *label, const char *le)
{
	buf_addf(out, "%s%s", def->name, suffix);
	if (!label && !le)
		return;
	buf_addc(out, '{');
	if (label) {
		buf_addf(out, "%s=\"", def->label);
		for (; *label; label++) {
			if (*label == '"' || *label == '\\')
				buf_addc(out, '\\');
			if (*label == '\n')
				buf_adds(out, "\\n");
			else
				buf_addc(out, *label);
		}
		buf_addc(out, '"');
	}
	if (le)
		buf_addf(out, "%sle=\"%s\"", label ? "," : "", le);
	buf_addc(out, '}');
}

static void write_histogram(struct buf *out, const struct metric *def,
			    const struct series *s)
{
	char le[32];

	for (size_t i = 0; i < NBOUNDS; i++) {
		snprintf(le, sizeof le, "%g", bounds[i]);
		write_key(out, def, "_bucket", s->label, le);
		buf_addf(out, " %lu\n", s->buckets[i]);
	}
	write_key(out, def, "_bucket", s->label, "+Inf");
	buf_addf(out, " %.17g\n", s->value);
	write_key(out, def, "_sum", s->label, NULL);
	buf_addf(out, " %.17g\n", s->sum);
	write_key(out, def, "_count", s->label, NULL);
	buf_addf(out, " %.17g\n", s->value);
}

static void write_family(struct buf *out, const struct metric *def,
			 const struct family *f)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};

	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", def->name, def->help,
		 def->name, kinds[def->kind]);
	for (size_t i = 0; i < f->n; i++) {
		if (def->kind == METRIC_HISTOGRAM) {
			write_histogram(out, def, &f->series[i]);
			continue;
		}
		write_key(out, def, "", f->series[i].label, NULL);
		buf_addf(out, " %.17g\n", f->series[i].value);
	}
	if (f->n == 0 && !def->label && def->kind != METRIC_HISTOGRAM) {
		write_key(out, def, "", NULL, NULL);
		buf_adds(out, " 0\n");
	}
}

void metrics_write(const struct metrics *m, struct buf *out)
{
	for (size_t i = 0; i < m->n; i++)
		write_family(out, &m->table[i], &m->families[i]);
}
