#ifndef WORKER_ACP_TRY_H
#define WORKER_ACP_TRY_H

#include "sandbox/box.h"
#include "worker/acp_config.h"

/*
 * Does an ACP agent work at all? Starts it in an empty directory, inside of the
 * sandbox that a run of it would have, says initialize and session/new, and
 * prints what came of each step as a line of JSON {"step", "result", "detail"}
 * on stdout; result is ok or failed, and detail is for a person. No model is
 * asked. On stdin is an object:
 *
 *   "config"   the driver's
 *   "sandbox"  as a worker is told (sandbox/spec.h)
 *   "home"     skep's own directory, which is hidden
 *   "node"     the least version of node that the agent needs, or nothing
 *
 * Returns an exit status: 0 when all is well.
 */
int acp_try(const char *timeout_ms);

/* acp_try_talk.c: -1 when it was no good. */
int acp_try_say(const char *step, bool ok, const char *detail);
int acp_try_talk(const struct acp_config *c, const struct box *box,
		 int64_t until); /* clock_mono_ns */

/* acp_try_node.c: of an agent that fails: is there a node of this version? 0:
 * it needs none. */
int acp_try_node(const struct acp_config *c, const struct box *box,
		 int64_t least);

#endif
