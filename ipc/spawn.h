#ifndef IPC_SPAWN_H
#define IPC_SPAWN_H

#include "lib/sandbox/cgroup.h"

#include <stdint.h>

/*
 * The protocol between skepd and its spawner: a SOCK_SEQPACKET pair with one
 * struct per packet; both sides are of one build. skepd sends requests with
 * passed descriptors:
 *
 *   SPAWN_WORKER   the start message (ipc/start_message.h), and the start barrier at
 *                  which the worker waits (worker/run/attempt.h), or none
 *   SPAWN_PLUGIN   those that ipc/plugin_shim.h lists
 *
 * The spawner responds to each with STARTED (and the pidfd of the process as a
 * passed descriptor) or FAILED, and reports every child that ended. It ends when
 * skepd does.
 */
#define SPAWN_FD      3 /* the spawner's end */
#define SPAWN_RUN     48
#define SPAWN_PASSED  5             /* descriptors, at most */
#define SPAWN_MARKER  "SKEP_RUN_ID" /* in the environment of all processes */
#define SPAWN_PROGRAM "skep-spawner"
/* Its one argument: as long as the name that ps shows for a worker. */
#define SPAWN_TITLE "skep-worker run_00000000000000000000000000"

enum spawn_program { SPAWN_WORKER, SPAWN_PLUGIN };

struct spawn_request {
	int32_t program;
	int64_t attempt;
	char run[SPAWN_RUN]; /* the run, preforked worker or plugin: for
			      * SPAWN_MARKER */
	char cgroup[256];    /* directory to create for it, or "" */
	struct cgroup_limits limits[CGROUP_LIMITS];
};

enum spawn_kind { SPAWN_STARTED, SPAWN_FAILED, SPAWN_EXITED };

struct spawn_event {
	int32_t kind;
	int32_t status; /* FAILED: errno; EXITED: as from waitpid */
	int32_t pid;
	int32_t in_cgroup; /* STARTED: it is in the requested cgroup */
	int64_t start_ticks;
	int64_t attempt;
	char run[SPAWN_RUN]; /* EXITED: "" */
};

#endif
