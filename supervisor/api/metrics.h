#ifndef SUPERVISOR_API_METRICS_H
#define SUPERVISOR_API_METRICS_H

#include "lib/http/metrics.h"
#include "supervisor/core/commands.h"

/* What is counted since start: it follows the host's log. */
enum web_metric {
#define METRIC(id, kind, name, label, help) WEB_M_##id,
#include "supervisor/api/metrics.def"
#undef METRIC
	WEB_METRICS
};

extern const struct metric web_metric_table[WEB_METRICS];

struct web_counts {
	struct supervisor *sup;
	struct metrics *metrics;
	struct supervisor_watch *watch;
	int64_t seq; /* of the host's log, counted up to here */
	bool asked;
};

int web_counts_open(struct web_counts *c, struct supervisor *sup,
		    struct err *e);
void web_counts_close(struct web_counts *c);

#endif
