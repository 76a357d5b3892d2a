#ifndef SCHEMA_CONTROL_CHILD_LIMITS_H
#define SCHEMA_CONTROL_CHILD_LIMITS_H

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "schema/control/run.h"

#include <stdbool.h>

/*
 * Which child runs a run may start itself: the member `children` of the
 * definition of its agent. Without it, a run starts none.
 *
 *   "children": {"agents": ["helper"], "max_depth": 1, "max_concurrent": 4,
 *                "max_total": 32, "max_cost": 2.5, "max_tokens": 100000}
 *
 * agents: whose runs it may start, "*" for any; by default only its own agent.
 * max_depth: of the child run, counted from the first run. max_concurrent and
 * max_total: child runs of one run. max_cost (dollars) and max_tokens: of all
 * runs below one run; no further one is started beyond that.
 */
struct child_limits {
	bool allowed;
	const cJSON *agents; /* borrowed; NULL: its own agent */
	int64_t max_depth, max_concurrent, max_total;
	int64_t max_cost_micros, max_tokens; /* OPT_NONE: no limit */
};

/* Reads and checks the member; ERR_INVALID. */
int child_limits_read(struct child_limits *out, const cJSON *spec,
		      struct err *e);

/* ERR_DENIED: the run may not start a run of this agent; ERR_RATELIMIT: it has
 * reached a limit. Call it in the transaction of the start. */
int child_limits_check(struct sql *db, const struct child_limits *l,
		       const struct run_row *parent, const char *agent,
		       struct err *e);

/* May the run use files of this agent? */
bool child_limits_name(const struct child_limits *l,
		       const struct run_row *parent, const char *agent);

#endif
