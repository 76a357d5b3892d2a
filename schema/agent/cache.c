#include "schema/agent/cache.h"

#include "lib/base/clock.h"
#include "schema/agent_queries.h"

#define GC_BATCH 256

int cache_gc(struct sql *db, int max, struct err *e)
{
	int64_t now = clock_now();
	int total = 0;

	while (total < max) {
		int batch = max - total < GC_BATCH ? max - total : GC_BATCH;
		int n;

		if (sql_enter_relaxed(db, e))
			return -1;
		n = sql_leave(db,
			      sql_exec(db, Q_CACHE_GC,
				       &(struct cache_gc_in){.now = now,
							     .count = batch},
				       e),
			      e);
		if (n < 0)
			return -1;
		total += n;
		if (n < batch)
			break;
	}
	return total;
}
