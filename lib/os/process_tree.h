#ifndef LIB_OS_PROCESS_TREE_H
#define LIB_OS_PROCESS_TREE_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The processes below this one. As child subreaper this process inherits every
 * descendant whose parent dies, however often it forked and whatever session it
 * made for itself. So when waitpid has no child left to wait for, no descendant
 * is left: that is the proof.
 *
 * Signals go by pidfd, to processes that are below us at that moment: a number
 * that was given to somebody else is never hit.
 */

/* Makes this process the reaper of its descendants. */
int tree_own(struct err *e);

/* A child, with all below it, that the following leave alone until it is not
 * spared any more: it serves the others, or stays when they go. */
#define TREE_SPARED 18 /* a mount, an agent, 16 MCP servers */
void tree_spare(pid_t pid);
void tree_unspare(pid_t pid);

/* A child that is the first process of a PID namespace: orphans in it become
 * its children. It is not one of those that are counted, signalled or ended;
 * what is below it is. 0: none. */
void tree_has_init(pid_t pid);

/* A child whose end somebody wants to know: the status is there once it was
 * reaped. The memory is the caller's, until tree_forget. */
struct tree_watch {
	struct tree_watch *next;
	pid_t pid;
	int status; /* as waitpid gives it */
	bool ended;
};

void tree_watch(struct tree_watch *w, pid_t pid);
void tree_forget(struct tree_watch *w);

/* Every descendant; it may have ended by then. */
void tree_each(void (*fn)(void *arg, pid_t pid), void *arg);

/* Signals every descendant; returns how many. */
int tree_signal(int sig);

/* Reaps whoever has ended; the status of `watched`, when it is among them, goes
 * to *status. Returns whether no child is left (but those that are spared). */
bool tree_reap(pid_t watched, int *status);

/*
 * Ends every descendant: SIGTERM, for grace_ms, then SIGKILL until all are gone.
 * ERR_TIMEOUT, with the number left, if the kernel does not let them go. *status
 * as tree_reap. Needs SIGCHLD blocked. Returns 0 when they are proven gone.
 */
int tree_end(int64_t grace_ms, pid_t watched, int *status, struct err *e);

#endif
