#ifndef SUPERVISOR_API_METRICS_H
#define SUPERVISOR_API_METRICS_H

#include "lib/http/metrics.h"
#include "supervisor/core/commands.h"

/* Counters since the start, counted from the host log. */
enum api_metric {
#define METRIC(id, kind, name, label, help) API_M_##id,
#include "supervisor/api/metrics.def"
#undef METRIC
	API_METRICS
};

extern const struct metric api_metric_table[API_METRICS];

struct api_counts {
	struct supervisor *sup;
	struct metrics *metrics;
	struct supervisor_watch *watch;
	int64_t seq; /* position in the host log */
	bool poll_pending;
};

int api_counts_open(struct api_counts *c, struct supervisor *sup,
		    struct err *e);
void api_counts_close(struct api_counts *c);

#endif
