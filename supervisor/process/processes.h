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
struct tree_place {
	char base[256]; /* a cgroup is this and its name; "": none */
	struct cgroup_place limits;
	pid_t spawner; /* 0: none; it bears the last marker and is nobody's */
};

struct tree {
	const char *run;    /* as in the marker */
	const char *cgroup; /* the name of its cgroup; NULL: as the run */
	pid_t worker;       /* 0: not known */
	int64_t start_ticks;
	bool in_cgroup;
};

/* Finds out whether cgroups can be had ("off" asks for none). Their names tell
 * which home they belong to. */
void tree_place_find(struct tree_place *p, const char *how, const char *home);

/* Where the cgroup of this name is, or is to be; "" for none. Its name is the
 * run's id, or that of the spare that the run's worker was. out has room for
 * 256. */
void tree_cgroup(const struct tree_place *p, const char *name, char *out);

/* Is there such a directory? (After a restart of skepd.) */
bool tree_has_cgroup(const struct tree_place *p, const char *name);

/* How many processes are left; 0 is proof. rss, if not NULL, gets their memory. */
int tree_count(const struct tree_place *p, const struct tree *t, int64_t *rss);

/* One of those that are left, and whether we may not signal it; 0: none. */
pid_t tree_find_left(const struct tree_place *p, const struct tree *t,
		     bool *denied);

/* How long to wait, in ms, after that many checks found a process: soon, then
 * less and less often, since a check may cost a walk over all processes. */
int64_t tree_recheck_ms(unsigned checks);

/* Signals all of them: how many there were. */
int tree_signal_all(const struct tree_place *p, const struct tree *t, int sig);

/* Every cgroup that a supervisor of this home made. */
void tree_each_cgroup(const struct tree_place *p,
		      void (*fn)(void *arg, const char *name), void *arg);

/* After proof: removes what the cgroup's owner had of the kernel. */
void tree_forget(const struct tree_place *p, const char *name);

/* The worker of a run that was started without our hearing of it: its pid, or
 * 0. `run` is matched with the marker. */
pid_t tree_find_worker(const struct tree_place *p, const char *run);

#endif
