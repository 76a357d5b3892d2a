#ifndef SCHEMA_LANGGRAPH_LANGGRAPH_H
#define SCHEMA_LANGGRAPH_LANGGRAPH_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/langgraph_queries.h"

/*
 * LangGraph's SqliteSaver may use an agent file beside us: it makes its tables
 * `checkpoints` and `writes` itself, at first use. Here they are counted and
 * pruned. Both calls work where the tables are not there (nothing to count).
 */
struct langgraph_stats {
	int64_t threads;
	int64_t checkpoints;
	int64_t writes;
	int64_t bytes; /* of both, values only */
};

int langgraph_stats(struct sql *agent_db, struct langgraph_stats *out,
		    struct err *e);

/* Threads in the order of their names, after `after` (NULL: from the first), at
 * most max, in the arena; how many. struct langgraph_thread_row:
 *   thread checkpoints writes bytes */
int langgraph_threads(struct sql *agent_db, const char *after, int max,
		      struct langgraph_thread_row **rows, struct arena *a,
		      struct err *e);

/* Removes all of one thread but its newest `keep` checkpoints in each
 * namespace; returns how many checkpoints went. */
int langgraph_prune(struct sql *agent_db, const char *thread, int keep,
		    struct err *e);

#endif
