#ifndef WORKER_DRIVER_ACP_PROBE_H
#define WORKER_DRIVER_ACP_PROBE_H

#include "lib/sandbox/sandbox.h"
#include "worker/driver/acp/config.h"
#include "worker/driver/probe.h"

/*
 * Tests whether an agent works. A separate process makes the sandbox that a run
 * of the agent would have, in an empty directory. An ACP agent is started in
 * it: it gets initialize and session/new, is asked to write a file and to run a
 * command, and the results are checked. The command of the exec driver is only
 * looked up, and a script is parsed (worker/driver/probe.h, which prints the
 * results). stdin contains an object:
 *
 *   "driver"   exec, script or acp
 *   "config"   of the driver
 *   "sandbox"  as for a worker (lib/sandbox/spec.h)
 *   "home"     skep's own directory, which is hidden
 *   "node"     minimum version of node for the agent, or absent
 *   "prompt"   false: no model is used, so nothing is written or run
 *
 * Returns an exit status: 0 if every step succeeded.
 */
int acp_probe(const char *timeout_ms);

/* probe_session.c: -1 if the session failed. */
struct acp_probe_session {
	const struct acp_config *config;
	const struct sandbox *sandbox;
	int64_t until; /* clock_mono_ns */
	bool prompts;
};

int acp_probe_session(const struct acp_probe_session *how);

/* probe_work.c: the task for the agent, and the check of its result. */
struct acp_probe_work {
	const char *dir;
	char word[16], input[16];
	char prompt[1024];
};

int acp_probe_work_begin(struct acp_probe_work *w, const char *dir,
			 struct err *e);
int acp_probe_work_check(const struct acp_probe_work *w);

/* probe_node.c: for an agent that fails: is node installed in this version? 0:
 * it needs none. */
int acp_probe_node(const struct acp_config *c, const struct sandbox *sandbox,
		   int64_t least);

#endif
