#ifndef SUPERVISOR_PROCESS_PROCESSES_H
#define SUPERVISOR_PROCESS_PROCESSES_H

#include "lib/base/err.h"
#include "lib/sandbox/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The processes of a run, seen from outside: counts and signals them, and
 * verifies that none is left. If cgroups are available, each run has one, and
 * the kernel knows its members. Otherwise a process belongs to a run if its
 * environment contains the marker of the run, if it is in the session of the
 * living worker, or if the spawner, the subreaper of all, inherited it without
 * a marker. The same holds for a plugin, with its shim as the worker.
 *
 * Signals are sent through pidfds that were checked after opening, so a reused
 * pid is never signalled.
 */
struct process_roots {
	char base[256]; /* prefix of the path of a cgroup; "": no cgroups */
	struct cgroup_bases limits;
	pid_t spawner; /* 0: none; it belongs to no run */
};

struct processes {
	const char *run;    /* value of the marker */
	const char *cgroup; /* name of the cgroup; NULL: like run */
	pid_t worker;       /* 0: unknown */
	int64_t start_ticks;
	bool in_cgroup;
};

/* Detects whether cgroups are available. how "off": do not use them. The names
 * of the cgroups contain a hash of the home. */
void process_roots_find(struct process_roots *p, const char *how,
			const char *home);

/* The path of the cgroup with this name, or "" without cgroups. The name is the
 * id of a run or of a preforked worker. out has 256 bytes. */
void processes_cgroup(const struct process_roots *p, const char *name,
		      char *out);

/* Does the cgroup exist? For use after a restart of skepd. */
bool processes_have_cgroup(const struct process_roots *p, const char *name);

/* Memory in bytes and CPU time of processes. */
struct process_usage {
	int64_t rss, cpu_ms;
};

/* Returns the number of processes; 0 means that none is left. *use, if not
 * NULL, receives what they use. Any thread may call it. */
int processes_count(const struct process_roots *p, const struct processes *t,
		    struct process_usage *use);

/* Returns the pid of one process that is left, or 0. *denied: skepd may not
 * signal it. */
pid_t processes_find_one(const struct process_roots *p,
			 const struct processes *t, bool *denied);

/* The time in ms before the next check, after `checks` checks found a process.
 * It grows, since a check may walk over all processes of the host. */
int64_t processes_recheck_ms(unsigned checks);

/* Signals all processes; returns how many there were. */
int processes_signal(const struct process_roots *p, const struct processes *t,
		     int sig);

/* Calls fn for each cgroup that a supervisor of this home created. */
void processes_each_cgroup(const struct process_roots *p,
			   void (*fn)(void *arg, const char *name), void *arg);

/* Removes the cgroups with this name, after the exit was verified. */
void processes_remove_cgroup(const struct process_roots *p, const char *name);

/* Finds the worker of a run whose start was not reported, by the marker.
 * Returns its pid, or 0. */
pid_t processes_find_worker(const struct process_roots *p, const char *run);

#endif
