#ifndef OPS_MAINTAIN_PRUNE_H
#define OPS_MAINTAIN_PRUNE_H

#include "lib/base/shape.h"
#include "schema/agent/agent_file.h"

/*
 * Deletes old data in batches (ops/maintain/batch.h), beside active runs. In a
 * file: sessions with all their events, artifacts of their runs, snapshots of
 * workspaces; in the control plane: ended runs and old messages
 * (schema/control/channel/retention.h). It never deletes anything that is
 * active or waiting. If it is killed, the next call finishes the work.
 *
 * A dry run does the same in a transaction that is rolled back
 * (ops/maintain/dry_run.h).
 */
struct prune_options {
	int64_t before; /* what was last active before this may be deleted */
	int64_t keep;   /* number of sessions, and of runs, to keep */
	const char *const *busy; /* sessions with waiting runs */
	int nbusy;
	int64_t until; /* batch_clock: ERR_TIMEOUT after this; 0: never */
};

#define PRUNED(F, S)                                                         \
	F(S, text, database)                                                 \
	F(S, text, agent)                                                    \
	F(S, i64, sessions)                                                  \
	F(S, i64, events)                                                    \
	F(S, i64, runs)                                                      \
	F(S, i64, deliveries)                                                \
	F(S, i64, inbound)                                                   \
	F(S, i64, messages) /* between sessions */                           \
	F(S, i64, attachments)                                               \
	F(S, i64, artifacts)                                                 \
	F(S, i64, snapshots)                                                 \
	F(S, i64, freed_bytes) /* by which the file has shrunk */            \
	F(S, i64, longest_ms)  /* longest time that a write lock was held */ \
	F(S, i64, longest_cpu_ms) /* CPU time of that */
SHAPE_DECLARE(pruned, PRUNED);

int prune_agent(struct agent_file *f, const struct prune_options *options,
		struct pruned *out, struct err *e);

/* One batch of at most `count` ended runs, inside the caller's transaction: how
 * many. `edge` is from prune_edge. */
int prune_runs(struct sql *control, int64_t before, const char *edge,
	       int64_t count, struct err *e);

/* The first id that ask->keep protects; "~" if none. */
int prune_edge(struct sql *control, int64_t keep, char edge[64], struct err *e);

/* Erases the content of old events and keeps types, times, parents and usage.
 * Returns the number of events. */
int64_t prune_content(struct agent_file *f, const struct prune_options *options,
		      struct err *e);

#endif
