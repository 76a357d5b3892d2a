#ifndef SUPERVISOR_API_METRICS_H
#define SUPERVISOR_API_METRICS_H

#include "lib/http/metrics.h"
#include "supervisor/core/commands.h"

/* What is counted since start: it follows the host's log. */
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
	int64_t seq; /* of the host's log, counted up to here */
	bool poll_pending;
};

int api_counts_open(struct api_counts *c, struct supervisor *sup,
		    struct err *e);
void api_counts_close(struct api_counts *c);

#endif
