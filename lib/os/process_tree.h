#ifndef LIB_OS_PROCESS_TREE_H
#define LIB_OS_PROCESS_TREE_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The processes below this one, for use from inside: by workers and plugin
 * shims, which are the parents of their trees. (supervisor/process/processes.h
 * finds the processes of a run or plugin from outside, where no parent may be
 * left.) As a child subreaper, this process inherits every descendant whose
 * parent dies, regardless of forks and sessions. When waitpid has no child left
 * to wait for, no descendant exists.
 *
 * Signals are sent through pidfds, to processes that are below us at that
 * moment. A reused pid is never hit.
 */

/* Makes this process the reaper of its descendants. */
int tree_own(struct err *e);

/* An exempt child: the functions below ignore it and its descendants until it
 * is no longer exempt. It serves the others, or outlives them. */
#define TREE_EXEMPT_MAX 18 /* a mount, an agent, 16 MCP servers */
void tree_exempt(pid_t pid);
void tree_unexempt(pid_t pid);

/* A child that is the first process of a PID namespace: orphans in it become
 * its children. It is not counted, signalled or ended itself; its descendants
 * are. 0: none. */
void tree_has_init(pid_t pid);

/* Stores the exit status of a child as soon as it was reaped. The memory
 * belongs to the caller, until tree_unwatch. */
struct tree_watch {
	struct tree_watch *next;
	pid_t pid;
	int status; /* as from waitpid */
	bool ended;
};

void tree_watch(struct tree_watch *w, pid_t pid);
void tree_unwatch(struct tree_watch *w);

/* All descendants; they may have ended by now. */
void tree_each(void (*fn)(void *arg, pid_t pid), void *arg);

/* Signals every descendant; returns how many. */
int tree_signal(int sig);

/* Reaps all ended children; the status of `watched`, if it is among them, is
 * stored in *status. Returns whether no child is left, except for exempt
 * ones. */
bool tree_reap(pid_t watched, int *status);

/*
 * Ends every descendant: SIGTERM, then after grace_ms SIGKILL until all have
 * exited. ERR_TIMEOUT, with the number left, if some do not exit. *status as in
 * tree_reap. Requires SIGCHLD to be blocked. Returns 0 when none is left.
 */
int tree_end(int64_t grace_ms, pid_t watched, int *status, struct err *e);

#endif
