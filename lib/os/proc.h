#ifndef LIB_OS_PROC_H
#define LIB_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Processes, as /proc tells of them: for walks over all of them. (Which process
 * is meant is lib/os/process.h.)
 */
struct proc_stat {
	char state; /* 'Z' and 'X' are over */
	pid_t parent, group, session;
	int64_t start_ticks; /* field 22 of /proc/PID/stat */
	int64_t rss_pages;
};

/* 0, or -1 if there is no such process. */
int proc_stat(pid_t pid, struct proc_stat *out);

/* Calls fn for every process; stops when it returns false. -1 without /proc. */
int proc_each(bool (*fn)(void *arg, pid_t pid), void *arg);

/* Copies the value that `name` has in the environment which the process was
 * started with; false if it is not there or cannot be read. */
bool proc_env(pid_t pid, const char *name, char *out, size_t cap);

/* A pidfd of the very process that `seen` is of, for the caller to close; -1 if
 * it has ended, and the number is free or another's. */
int proc_hold(pid_t pid, const struct proc_stat *seen);

/*
 * How soon the kernel ends this process, and what it starts, when memory runs
 * out: commands first, then workers, the supervisor last. A process that must
 * not lower its score keeps it. System calls only.
 */
#define PROC_OOM_SUPERVISOR (-500)
#define PROC_OOM_WORKER     100
#define PROC_OOM_COMMAND    300
void proc_oom_score(int score); /* at least 100 more than now, if above 0 */

/* For a process that will not be able to open the file: its descriptor, and the
 * score that it has; -1. Then to set it. */
int proc_oom_open(int *score);
void proc_oom_set(int fd, int score);

/*
 * A brand: a number that a process bears with all that it starts, whatever they
 * do to their environment, session and parents. It is the limit of file locks,
 * which the kernel hands down and has not looked at since Linux 2.4; nobody
 * changes it but on purpose. Brands are between PROC_BRAND_MIN and twice that.
 */
#define PROC_BRAND_MIN (UINT64_C(1) << 62)
int proc_take_brand(uint64_t brand); /* -1: a lower limit is set already */
uint64_t proc_brand(pid_t pid);      /* 0: none */

#endif
