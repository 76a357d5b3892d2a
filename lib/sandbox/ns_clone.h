#ifndef LIB_SANDBOX_NS_CLONE_H
#define LIB_SANDBOX_NS_CLONE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Starts a process in namespaces that the caller does not enter itself. A PID
 * namespace, and a namespace below a user namespace, can only be entered by a
 * process that forks afterwards. So a helper that shares our memory enters
 * them, forks a child of ours (CLONE_PARENT) and exits; no memory is copied for
 * the helper. Nor is it copied for a child that executes a program; the caller
 * waits until then.
 */
struct ns_clone {
	int user;              /* entered first, -1: none */
	int pid;               /* the PID namespace, -1: none */
	uint64_t flags;        /* new namespaces of the child, for clone3 */
	void (*fn)(void *arg); /* in the child: system calls only, no return */
	void *arg;
	int *pidfd; /* gets a descriptor of the child; NULL: not wanted */
	bool execs; /* the child only executes another program, or exits, and
		     * has our memory until then; without flags and pidfd */
};

/* The pid of the child, for the caller to wait for; -1 with errno. */
pid_t ns_clone(const struct ns_clone *j);

#endif
