#ifndef LIB_HTTP_METRICS_H
#define LIB_HTTP_METRICS_H

#include "lib/base/buf.h"

#include <stddef.h>

/*
 * A registry of metrics that prints itself in Prometheus' text format. A table
 * (from a .def) names all of them; a metric has at most one label, and at most
 * METRIC_SERIES values of it. Further values count as "other", so that input
 * cannot grow the registry.
 */
enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
	const char *name; /* ends in _total for counters, _seconds for times */
	const char *help;
	const char *label; /* NULL: none */
	enum metric_kind kind;
};

#define METRIC_SERIES 128

struct metrics;

/* The table is borrowed; ids below are indexes into it. */
struct metrics *metrics_new(const struct metric *table, size_t n);
void metrics_free(struct metrics *m);

/* label is NULL for a metric without one; it is copied. */
void metrics_add(struct metrics *m, size_t id, const char *label, double by);
void metrics_set(struct metrics *m, size_t id, const char *label, double to);

/* Histograms: seconds, in buckets from 0.5 ms to 30 s. */
void metrics_observe(struct metrics *m, size_t id, const char *label,
		     double seconds);

void metrics_write(const struct metrics *m, struct buf *out);

#endif
