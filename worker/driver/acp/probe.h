#ifndef WORKER_DRIVER_ACP_PROBE_H
#define WORKER_DRIVER_ACP_PROBE_H

#include "lib/sandbox/sandbox.h"
#include "worker/driver/acp/config.h"
#include "worker/driver/probe.h"

/*
 * Does an agent work? A process of its own makes the sandbox that a run of the
 * agent would have, in an empty directory. An ACP agent is started in it: it gets
 * initialize and session/new, is asked to write a file and to run a command, and
 * the results are checked. The command of the exec driver is only looked for, and
 * a script is parsed (worker/driver/probe.h, which prints the results). On stdin
 * is an object:
 *
 *   "driver"   exec, script or acp
 *   "config"   the driver's
 *   "sandbox"  as a worker is told (lib/sandbox/spec.h)
 *   "home"     skep's own directory, which is hidden
 *   "node"     the least version of node that the agent needs, or nothing
 *   "prompt"   false: no model is asked, so nothing is written or run
 *
 * Returns an exit status: 0 when all is well.
 */
int acp_probe(const char *timeout_ms);

/* probe_session.c: -1 when it was no good. */
struct acp_probe_session {
	const struct acp_config *config;
	const struct sandbox *box;
	int64_t until; /* clock_mono_ns */
	bool prompts;
};

int acp_probe_session(const struct acp_probe_session *how);

/* probe_work.c: what the agent is asked to do, and whether it did it. */
struct acp_probe_work {
	const char *dir;
	char word[16], input[16];
	char prompt[1024];
};

int acp_probe_work_begin(struct acp_probe_work *w, const char *dir,
			 struct err *e);
int acp_probe_work_check(const struct acp_probe_work *w);

/* probe_node.c: of an agent that fails: is there a node of this version? 0:
 * it needs none. */
int acp_probe_node(const struct acp_config *c, const struct sandbox *box,
		   int64_t least);

#endif
