#ifndef LIB_SANDBOX_CGROUP_H
#define LIB_SANDBOX_CGROUP_H

#include "lib/sandbox/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Limits that only a cgroup can enforce: memory, CPU and processes of a whole
 * run. In cgroup version 2 they are files of the run's cgroup, if the host
 * allows it; in version 1 each controller has its own hierarchy.
 */
enum cgroup_limit { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_LIMITS };

/*
 * Limits that the definition sets apply from the start of the worker. Late
 * limits (of processes, and the default of memory) are set by the worker right
 * before it starts a command: entering a cgroup of version 1 may take
 * milliseconds, and a worker without commands needs no limit. Its environment
 * names the directories.
 */
#define CGROUP_PIDS_DIR   "SKEP_PIDS_CGROUP"
#define CGROUP_MEMORY_DIR "SKEP_MEMORY_CGROUP"

#define CGROUP_PATH 256

/* In version 2, a cgroup that limits its children cannot contain processes. A
 * supervisor that is alone in a cgroup moves into this child. */
#define CGROUP_LEAF "skepd"

/* Prefix of the names of cgroups: "skep-", eight digits of a hash of the home,
 * "-". So each home can find its own. */
#define CGROUP_PREFIX 16
void cgroup_prefix(const char *home, char out[CGROUP_PREFIX]);

struct cgroup_bases { /* a run's directory is this and its id; "": none */
	char base[CGROUP_LIMITS][CGROUP_PATH - 56];
};

struct cgroup_limits {
	char dir[CGROUP_PATH]; /* "": no limit */
	int64_t max;
	bool late;
};

/* The cgroup of version 2 in which a supervisor with this pid puts those of its
 * runs, wherever that version is mounted; false: there is none. */
bool cgroup_unified(pid_t pid, char *out, size_t cap);

/* `unified` is the directory for the runs' cgroups of version 2, without the
 * id, or "". Members that are not available stay "". */
void cgroup_find(struct cgroup_bases *p, const char *unified, const char *home);

/* Calls fn for every cgroup of both versions that contains no process and whose
 * name begins with the prefix. */
void cgroup_each_empty(const char *prefix,
		       void (*fn)(void *arg, const char *dir), void *arg);

/* Read-only: which of them a supervisor with this pid provides, or could
 * provide. */
void cgroup_probe(pid_t pid, bool has[CGROUP_LIMITS]);

/* Which limits are available, and where; returns whether all requested ones
 * are. A default that cannot be enforced is left out. */
bool cgroup_plan(const struct cgroup_bases *p, const struct sandbox_limits *l,
		 const char *run, struct cgroup_limits out[CGROUP_LIMITS]);

/* ERR_NOTALLOWED if s sets a limit that cannot be enforced here. */
int cgroup_accept(const struct cgroup_bases *p, const struct sandbox_spec *s,
		  struct err *e);

/* Before the process exists: creates the directories and sets the limits. */
void cgroup_set(const struct cgroup_limits limits[CGROUP_LIMITS]);

/* In the process: enters those in which it was not created (`own`), and records
 * where the limit of processes will be. */
void cgroup_join(const struct cgroup_limits limits[CGROUP_LIMITS],
		 const char *own);

/* In a preforked worker, before it has a run: enters the cgroups of the late
 * limits, which are set afterwards. In version 1, writing to cgroup.procs waits
 * for an RCU grace period, often more than 10 ms. */
void cgroup_enter_early(void);

/* In a worker, before its first command: sets the late limits. */
void cgroup_limit_late(const struct sandbox_limits *l);

/* A descriptor that reports how many processes the kernel has killed for lack
 * of memory, or -1; and the number, 0 if it is unknown. */
int cgroup_oom_open(const char *dir);
int64_t cgroup_oom_read(int fd);

/* The same for a run that has ended. */
int64_t cgroup_oom(const struct cgroup_bases *p, const char *run);

/* After its last process is gone. */
void cgroup_release(const struct cgroup_bases *p, const char *run);

#endif
