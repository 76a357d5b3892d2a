#ifndef IPC_SPAWN_H
#define IPC_SPAWN_H

#include "lib/sandbox/cgroup.h"

#include <stdint.h>

/*
 * The protocol between skepd and its spawner: a SOCK_SEQPACKET pair with one
 * struct per packet; both sides are of one build. skepd sends requests, each
 * with the worker's start message (ipc/start_message.h) as a passed descriptor,
 * followed by the gate at which the worker waits (worker/run/attempt.h), or
 * none. The spawner responds to each with STARTED (and the worker's pidfd as a
 * passed descriptor) or FAILED, and reports every child that ended. It ends
 * when skepd does.
 */
#define SPAWN_FD      3 /* the spawner's end */
#define SPAWN_RUN     32
#define SPAWN_PASSED  2 /* descriptors, at most */
#define SPAWN_BUILD   SKEP_VERSION
#define SPAWN_MARKER  "SKEP_RUN_ID" /* in the environment of all processes */
#define SPAWN_PROGRAM "skep-spawner"
/* Its one argument: as long as the name that ps shows for a worker. */
#define SPAWN_TITLE "skep-worker run_00000000000000000000000000"

struct spawn_send {
	int64_t attempt;
	char run[SPAWN_RUN];
	char cgroup[256]; /* directory to create for it, or "" */
	struct cgroup_limits limits[CGROUP_LIMITS];
};

enum spawn_kind { SPAWN_STARTED, SPAWN_FAILED, SPAWN_EXITED };

struct spawn_told {
	int32_t kind;
	int32_t status; /* FAILED: errno; EXITED: as from waitpid */
	int32_t pid;
	int32_t in_cgroup; /* STARTED: the worker is in the requested cgroup */
	int64_t start_ticks;
	int64_t attempt;
	char run[SPAWN_RUN]; /* EXITED: "" */
};

#endif
