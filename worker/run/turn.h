#ifndef WORKER_RUN_TURN_H
#define WORKER_RUN_TURN_H

#include "worker/run/run.h"

/*
 * The turns of a run: one for a command (exec), one for each prompt (acp), one
 * for each answer of the model with the tools that it calls (chat). Changes of
 * the workspace are recorded with the turn and the tool that made them, and each
 * turn leaves a marker (schema/agent/marker.h), if the workspace is a namespace.
 */

/* The next turn begins, with this tool or NULL. Call it with an open workspace. */
int turn_begin(struct run *r, const char *tool, struct err *e);

/* What follows is done by this tool; NULL: by none. */
int turn_tool(struct run *r, const char *tool, struct err *e);

/* The turn is over, and everything that its tools have written is committed. Does
 * nothing if no turn is open. */
int turn_end(struct run *r, struct err *e);

/* Whether the commit that ends the run also ends its turn (marker_end_run): it
 * follows the end of the mount, so it need not wait for the mount's commit. */
bool turn_ends_with_run(const struct run *r);

#endif
