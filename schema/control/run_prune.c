#include "schema/control/run_prune.h"

#include "lib/db/sql.h"
#include "schema/control_queries.h"

#include <stddef.h>

#define ROWS 32 /* of each table in a step */

int run_prune_step(struct sql *db, const struct run_prune *p, int64_t *deleted,
		   struct err *e)
{
	static const unsigned first[] = {
		Q_PRUNE_CHILDREN, Q_PRUNE_RETRIES,   Q_PRUNE_TRANSITIONS,
		Q_PRUNE_COMMANDS, Q_PRUNE_APPROVALS, Q_FIRING_PRUNE,
	};
	struct run_prune in = *p;
	int n;

	in.rows = ROWS;
	for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
		n = sql_exec(db, first[i], &in, e);
		if (n < 0 || n == ROWS)
			return n < 0 ? -1 : 1;
	}
	n = sql_exec(db, Q_PRUNE_RUNS, &in, e);
	if (n > 0)
		*deleted += n;
	return n > 0 ? 1 : n;
}
