#ifndef SUPERVISOR_PROCESS_PROCESSES_H
#define SUPERVISOR_PROCESS_PROCESSES_H

#include "lib/base/err.h"
#include "lib/sandbox/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The processes of a run, seen from outside: proof that none is left, and the
 * means to end them. Where a cgroup can be had, each run has its own, and the
 * kernel knows. Elsewhere a process belongs to a run if the marker is in its
 * environment, if it is in the session of the living worker, or if it was left
 * to the spawner (the subreaper of all) without a marker. The same holds for a
 * plugin; its shim is the worker then.
 *
 * Signals go through pidfds that were looked at again after opening: a number
 * that belongs to another process by then is never signalled.
 */
struct process_roots {
	char base[256]; /* a cgroup is this and its name; "": none */
	struct cgroup_bases limits;
	pid_t spawner; /* 0: none; it bears the last marker and is nobody's */
};

struct processes {
	const char *run;    /* as in the marker */
	const char *cgroup; /* the name of its cgroup; NULL: as the run */
	pid_t worker;       /* 0: not known */
	int64_t start_ticks;
	bool in_cgroup;
};

/* Finds out whether cgroups can be had ("off" asks for none). Their names tell
 * which home they belong to. */
void process_roots_find(struct process_roots *p, const char *how,
			const char *home);

/* Where the cgroup of this name is, or is to be; "" for none. Its name is the
 * run's id, or that of the spare that the run's worker was. out has room for
 * 256. */
void processes_cgroup(const struct process_roots *p, const char *name,
		      char *out);

/* Is there such a directory? (After a restart of skepd.) */
bool processes_have_cgroup(const struct process_roots *p, const char *name);

/* How many processes are left; 0 is proof. rss, if not NULL, gets their memory. */
int processes_count(const struct process_roots *p, const struct processes *t,
		    int64_t *rss);

/* One of those that are left, and whether we may not signal it; 0: none. */
pid_t processes_find_one(const struct process_roots *p,
			 const struct processes *t, bool *denied);

/* How long to wait, in ms, after that many checks found a process: soon, then
 * less and less often, since a check may cost a walk over all processes. */
int64_t processes_recheck_ms(unsigned checks);

/* Signals all of them: how many there were. */
int processes_signal(const struct process_roots *p, const struct processes *t,
		     int sig);

/* Every cgroup that a supervisor of this home made. */
void processes_each_cgroup(const struct process_roots *p,
			   void (*fn)(void *arg, const char *name), void *arg);

/* After proof: removes what the cgroup's owner had of the kernel. */
void processes_remove_cgroup(const struct process_roots *p, const char *name);

/* The worker of a run that was started without our hearing of it: its pid, or
 * 0. `run` is matched with the marker. */
pid_t processes_find_worker(const struct process_roots *p, const char *run);

#endif
