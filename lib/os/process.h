#ifndef LIB_OS_PROCESS_H
#define LIB_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which process: pids are used again, so a process is named by its pid, the
 * moment at which it started (in clock ticks since boot) and the boot.
 */
struct process_mark {
	int64_t pid;
	int64_t start_ticks; /* field 22 of /proc/PID/stat */
	char boot_id[40];
};

struct process_mark process_self(void);

/* Of any process; false if there is none with this pid. */
bool process_mark(int64_t pid, struct process_mark *out);

/* Does this very process still run? A zombie does not: it can do nothing more. */
bool process_is_alive(const struct process_mark *m);

/* A pidfd of the process of this boot that was once named so; -1: it is gone. */
int process_pidfd(int64_t pid, int64_t start_ticks);

#endif
