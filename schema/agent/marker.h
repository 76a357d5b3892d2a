#ifndef SCHEMA_AGENT_MARKER_H
#define SCHEMA_AGENT_MARKER_H

#include "schema/agent/agent_file.h"

/*
 * Markers: the state of a workspace before the first turn of a run and after each
 * turn. A marker is a row and a hidden snapshot (vfs/snapshot/snapshot.h), which
 * is a row too, whatever the size of the tree. vfs/marker compares and reverts
 * them.
 */
#define MARKER_PREFIX ".marker-" /* of the names of these snapshots */
#define REWIND_PREFIX ".rewind-" /* of those before a rewind */

struct marker_new {
	int64_t run, session; /* rows of the file */
	int64_t turn;
	int64_t seq;           /* last event of the session */
	const char *workspace; /* namespace */
};

/* Records the state of the namespace. A turn 0 that was recorded stays. */
int marker_put(struct agent_file *f, const struct marker_new *m, struct err *e);

/* The run has ended. If its worker died in a turn, the turn ends here. */
int marker_end_run(struct agent_file *f, int64_t run, int64_t seq,
		   struct err *e);

#endif
