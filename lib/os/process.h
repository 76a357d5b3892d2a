#ifndef LIB_OS_PROCESS_H
#define LIB_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Identity of a process. Pids are reused, so a process is identified by its
 * pid, its start time (in clock ticks since boot) and the boot.
 */
struct process_identity {
	int64_t pid;
	int64_t start_ticks; /* field 22 of /proc/PID/stat */
	char boot_id[40];
};

struct process_identity process_self(void);

/* Of any process; false if this pid does not exist. */
bool process_identity(int64_t pid, struct process_identity *out);

/* Whether this very process still runs. A zombie does not: it can do nothing
 * more. */
bool process_is_alive(const struct process_identity *m);

/* Whether a process is in a PID namespace below ours, as in a sandbox or a
 * container, or gone. 0 is a process outside of ours. */
bool process_is_inside_or_gone(int64_t pid);

/* A pidfd of the process with this identity, in this boot; -1: it is gone. */
int process_pidfd(int64_t pid, int64_t start_ticks);

#endif
