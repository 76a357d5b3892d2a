#ifndef LIB_SANDBOX_CGROUP_H
#define LIB_SANDBOX_CGROUP_H

#include "lib/sandbox/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Limits that only a cgroup can hold: of memory, CPU and processes of a whole
 * run. In the second version of cgroups they are files of the run's cgroup, if
 * the host lets us have them; in the first each is a tree of its own.
 */
enum cgroup_limit { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_LIMITS };

/*
 * Limits that the definition names hold from the first moment of the worker on.
 * Those that are late, of processes and the default of memory, are set by the
 * worker when it is about to start a command: to go into a tree of the first
 * version may take milliseconds, and a worker without commands needs no limit.
 * Its environment says where.
 */
#define CGROUP_PIDS_DIR   "SKEP_PIDS_CGROUP"
#define CGROUP_MEMORY_DIR "SKEP_MEMORY_CGROUP"

#define CGROUP_PATH 256

/* In the second version a cgroup with limits for those below has no processes of
 * its own: a supervisor that is alone in one goes into this one below it. */
#define CGROUP_LEAF "skepd"

/* Names of cgroups begin with this: "skep-", eight digits of a hash of the home,
 * "-". So each home knows its own. */
#define CGROUP_PREFIX 16
void cgroup_prefix(const char *home, char out[CGROUP_PREFIX]);

struct cgroup_place { /* a run's directory is this and its id; "": none */
	char base[CGROUP_LIMITS][CGROUP_PATH - 56];
};

struct cgroup_limits {
	char dir[CGROUP_PATH]; /* "": no limit */
	int64_t max;
	bool late;
};

/* The cgroup of the second version below which a supervisor with this pid has
 * those of its runs, wherever that version is mounted; false: there is none. */
bool cgroup_unified(pid_t pid, char *out, size_t cap);

/* `unified` is where runs have their cgroups of the second version, without the
 * id, or "". What cannot be had stays "". */
void cgroup_find(struct cgroup_place *p, const char *unified, const char *home);

/* fn for every cgroup of both versions in which nobody is, and whose name begins
 * with the prefix. */
void cgroup_each_empty(const char *prefix,
		       void (*fn)(void *arg, const char *dir), void *arg);

/* Only looks: which of them a supervisor with this pid gives, or could give. */
void cgroup_look(pid_t pid, bool has[CGROUP_LIMITS]);

/* What of the limits is to be had where; whether all that are asked for are. A
 * default that nobody holds is left out. */
bool cgroup_plan(const struct cgroup_place *p, const struct sandbox_limits *l,
		 const char *run, struct cgroup_limits out[CGROUP_LIMITS]);

/* Before the process is there: makes the directories and sets the limits. */
void cgroup_set(const struct cgroup_limits ask[CGROUP_LIMITS]);

/* In the process: goes into those that it is not born in (`own`), and notes where
 * the limit of processes is to be. */
void cgroup_join(const struct cgroup_limits ask[CGROUP_LIMITS],
		 const char *own);

/* In a spare worker, before it has a run: enters the cgroups of the late limits,
 * which are set afterwards. Writing to cgroup.procs waits for an RCU grace period
 * in the first version, often more than 10 ms. */
void cgroup_enter_early(void);

/* In a worker, before its first command: the late ones. */
void cgroup_limit_late(const struct sandbox_limits *l);

/* How many processes the kernel has ended for want of memory: a descriptor that
 * tells, or -1; and the number, 0 if nobody knows. */
int cgroup_oom_open(const char *dir);
int64_t cgroup_oom_read(int fd);

/* The same of a run that is over. */
int64_t cgroup_oom(const struct cgroup_place *p, const char *run);

/* After its last process is gone. */
void cgroup_forget(const struct cgroup_place *p, const char *run);

#endif
