#ifndef SCHEMA_LANGGRAPH_LANGGRAPH_H
#define SCHEMA_LANGGRAPH_LANGGRAPH_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/langgraph_queries.h"

/*
 * LangGraph's SqliteSaver may use an agent file too: it creates its tables
 * `checkpoints` and `writes` at first use. These functions count and prune
 * them, and also work without the tables.
 */
struct langgraph_stats {
	int64_t threads;
	int64_t checkpoints;
	int64_t writes;
	int64_t bytes; /* of both, values only */
};

int langgraph_stats(struct sql *agent_db, struct langgraph_stats *out,
		    struct err *e);

/* Threads ordered by name, after `after` (NULL: from the first), at most max,
 * in the arena; returns their number. struct langgraph_thread_row:
 *   thread checkpoints writes bytes */
int langgraph_threads(struct sql *agent_db, const char *after, int max,
		      struct langgraph_thread_row **rows, struct arena *a,
		      struct err *e);

/* Deletes the checkpoints of a thread except its newest `keep` in each
 * namespace; returns the number of deleted checkpoints. */
int langgraph_prune(struct sql *agent_db, const char *thread, int keep,
		    struct err *e);

#endif
