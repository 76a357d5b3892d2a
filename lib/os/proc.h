#ifndef LIB_OS_PROC_H
#define LIB_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Processes as /proc shows them, for scans over all of them. lib/os/process.h
 * identifies a single process.
 */
struct proc_stat {
	char state; /* 'Z' and 'X': ended */
	pid_t parent, group, session;
	int64_t start_ticks; /* field 22 of /proc/PID/stat */
	int64_t rss_pages;
	int64_t cpu_ticks; /* with those of children that have ended */
};

/* 0, or -1 if there is no such process. */
int proc_stat(pid_t pid, struct proc_stat *out);

/* The processor that a thread uses, or used last; -1 if there is no such thread
 * or this process may not see it. */
int proc_thread_cpu(pid_t thread);

/* Calls fn for every process until it returns false. -1 without /proc. */
int proc_each(bool (*fn)(void *arg, pid_t pid), void *arg);

/* Copies the value of `name` from the environment with which the process was
 * started; false if it is absent or cannot be read. */
bool proc_env(pid_t pid, const char *name, char *out, size_t cap);

/* A pidfd of the process that `seen` describes, for the caller to close; -1 if
 * it has ended, even if the number is in use again. */
int proc_hold(pid_t pid, const struct proc_stat *seen);

/*
 * How early the kernel kills this process and its children when memory runs
 * out: commands first, then workers, the supervisor last. A process that may
 * not lower its score keeps it. System calls only.
 */
#define PROC_OOM_SUPERVISOR (-500)
#define PROC_OOM_WORKER     100
#define PROC_OOM_COMMAND    300
void proc_oom_score(int score); /* at least 100 more than now, if above 0 */

/* For a process that will not be able to open the file: returns its descriptor,
 * or -1, and the current score. The second function sets it. */
int proc_oom_open(int *score);
void proc_oom_set(int fd, int score);

#endif
