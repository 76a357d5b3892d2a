#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include "sandbox/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Limits that only a cgroup can hold: of memory, CPU and processes of a whole
 * run. In the second version of cgroups they are files of the run's cgroup, if
 * the host lets us have them; in the first each is a tree of its own.
 */
enum cgroup_limit { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_LIMITS };

#define CGROUP_PATH 256

/* In the second version a cgroup with limits for those below has no processes of
 * its own: a supervisor that is alone in one goes into this one below it. */
#define CGROUP_LEAF "skepd"

struct cgroup_place { /* a run's directory is this and its id; "": none */
	char base[CGROUP_LIMITS][CGROUP_PATH - 56];
};

struct cgroup_ask {
	char dir[CGROUP_PATH]; /* "": no limit */
	int64_t max;
};

/* `unified` is where runs have their cgroups of the second version, without the
 * id, or "". What cannot be had stays "". */
void cgroup_find(struct cgroup_place *p, const char *unified);

/* Only looks: which of them a supervisor with this pid gives, or could give. */
void cgroup_look(pid_t pid, bool has[CGROUP_LIMITS]);

/* What of the limits is to be had where; whether all that are set are. */
bool cgroup_plan(const struct cgroup_place *p, const struct sandbox_limits *l,
		 const char *run, struct cgroup_ask out[CGROUP_LIMITS]);

/* Before the process is there: makes the directories and sets the limits. */
void cgroup_set(const struct cgroup_ask ask[CGROUP_LIMITS]);

/* In the process: goes into those that it is not born in (`own`). */
void cgroup_join(const struct cgroup_ask ask[CGROUP_LIMITS], const char *own);

/* After its last process is gone. */
void cgroup_forget(const struct cgroup_place *p, const char *run);

#endif
