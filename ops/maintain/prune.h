#ifndef OPS_MAINTAIN_PRUNE_H
#define OPS_MAINTAIN_PRUNE_H

#include "lib/base/shape.h"
#include "schema/agent/agent_file.h"

/*
 * Removing what is old, in slices (ops/maintain/slice.h), while runs go on. Of
 * a file: sessions with all their events, what their runs made, snapshots of
 * workspaces; of the control plane: runs and messages
 * (schema/control/channel/retention.h) that are over. Nothing that is running
 * or waiting is ever taken. Killed anywhere, the next call finishes the work.
 *
 * A dry run does the very same in a transaction that is rolled back
 * (ops/maintain/dry_run.h).
 */
struct prune_options {
	int64_t before; /* what was last alive before this moment may go */
	int64_t keep;   /* of sessions, and of runs, the newest stay */
	const char *const *busy; /* sessions that have waiting runs */
	int nbusy;
	int64_t until; /* slice_clock: ERR_TIMEOUT after this; 0: never */
};

#define PRUNED(F, S)                                               \
	F(S, text, database)                                       \
	F(S, text, agent)                                          \
	F(S, i64, sessions)                                        \
	F(S, i64, events)                                          \
	F(S, i64, runs)                                            \
	F(S, i64, deliveries)                                      \
	F(S, i64, inbound)                                         \
	F(S, i64, messages) /* between sessions */                 \
	F(S, i64, attachments)                                     \
	F(S, i64, artifacts)                                       \
	F(S, i64, snapshots)                                       \
	F(S, i64, freed_bytes)    /* the file is smaller by */     \
	F(S, i64, longest_ms)     /* that a write lock was held */ \
	F(S, i64, longest_cpu_ms) /* of it, at work */
SHAPE_DECLARE(pruned, PRUNED);

int prune_agent(struct agent_file *f, const struct prune_options *ask,
		struct pruned *out, struct err *e);

/* One slice of at most `count` runs that are over, inside the caller's
 * transaction: how many. `edge` is from prune_edge. */
int prune_runs(struct sql *control, int64_t before, const char *edge,
	       int64_t count, struct err *e);

/* The first id that stays because of ask->keep; "~" if none. */
int prune_edge(struct sql *control, int64_t keep, char edge[64], struct err *e);

/* Empties what old events say, and keeps that they happened: types, times,
 * parents, usage. How many events. */
int64_t prune_content(struct agent_file *f, const struct prune_options *ask,
		      struct err *e);

#endif
