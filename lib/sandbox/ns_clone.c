#include "lib/sandbox/ns_clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK 65536

struct helper {
	const struct ns_clone *jump;
	char *stack; /* for a child that shares our memory */
	pid_t child; /* set by the helper, in shared memory */
	int sys;
};

static int run_child(void *arg)
{
	const struct ns_clone *j = arg;

	j->fn(j->arg);
	_exit(127);
}

/* The helper waits, and we wait for it, until the child has its own memory. */
static pid_t start_in_memory(const struct ns_clone *j, char *stack)
{
	return clone(run_child, stack, CLONE_VM | CLONE_VFORK | CLONE_PARENT,
		     (void *)(uintptr_t)j);
}

static pid_t start_copy(const struct ns_clone *j)
{
	struct clone_args args = {
		.flags = j->flags | CLONE_PARENT | (j->pidfd ? CLONE_PIDFD : 0),
		.pidfd = (uint64_t)(uintptr_t)j->pidfd,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0) {
		j->fn(j->arg);
		_exit(127);
	}
	return pid;
}

/* A descriptor that clone3 creates here would be lost, because the helper has
 * its own table. CLONE_FILES shares ours. */
static int help(void *arg)
{
	struct helper *h = arg;
	const struct ns_clone *j = h->jump;

	if ((j->user < 0 || setns(j->user, CLONE_NEWUSER) == 0) &&
	    (j->pid < 0 || setns(j->pid, CLONE_NEWPID) == 0))
		h->child = j->execs ? start_in_memory(j, h->stack)
				    : start_copy(j);
	h->sys = errno;
	_exit(0);
}

pid_t ns_clone(const struct ns_clone *j)
{
	_Alignas(16) char stack[STACK], more[STACK];
	struct helper h = {.jump = j,
			   .stack = more + sizeof more,
			   .child = -1,
			   .sys = EAGAIN};
	pid_t pid = clone(help, stack + sizeof stack,
			  CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &h);

	if (pid < 0)
		return -1;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = h.sys;
	return h.child;
}
