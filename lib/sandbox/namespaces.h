#ifndef LIB_SANDBOX_NAMESPACES_H
#define LIB_SANDBOX_NAMESPACES_H

#include "lib/base/err.h"
#include "lib/sandbox/homes.h"
#include "lib/sandbox/prepared.h"
#include "lib/sandbox/spec.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * The namespaces in which the commands of a run are executed: empty directories
 * cover what is hidden, /tmp and /dev/shm are private, and the network is as
 * configured. The process that creates them stays as the first process (init)
 * of the PID namespace: orphans become its children and are reaped, and when it
 * ends, the kernel kills all others. Without a PID namespace it exits as soon
 * as the caller holds the others.
 */
#define VISIBLE_PATHS (SANDBOX_PATHS * 3 + 16)

struct visible_path {
	const char *path;
	bool write;
};

struct namespaces_plan {
	int user, mnt, root;       /* entered first, -1: ours */
	const char *hidden;        /* skep's home, or NULL */
	const struct homes *homes; /* covered, or NULL */
	struct visible_path
		visible[VISIBLE_PATHS]; /* visible even below a covered path; a
					 * path that contains another comes
					 * first */
	int nvisible;
	enum sandbox_network network;
	int64_t tmp;        /* bytes */
	bool host_pids;     /* no PID namespace: for a machine without them */
	struct ready ready; /* set by namespaces.c */
};

/* Descriptors for setns; -1: not needed. */
struct namespaces {
	int user, mnt, net, ipc, pid, root;
	pid_t init; /* 0: none */
	int init_fd;
	int report, go; /* pipes to init, while it creates them */
};

#define NAMESPACES_NONE                                                 \
	{                                                               \
		.user = -1, .mnt = -1, .net = -1, .ipc = -1, .pid = -1, \
		.root = -1, .init_fd = -1, .report = -1, .go = -1       \
	}

/* In a preforked worker, before it has a run: starts the process that will
 * create the namespaces and become init, with everything that does not depend
 * on the plan (lib/sandbox/prepared.h). namespaces_begin and namespaces_make
 * use it if the plan allows. */
void namespaces_prepare(void);
pid_t namespaces_prepared(void); /* that process; 0: none */
void namespaces_unprepare(void); /* ends it if it was not used */

/* Starts creating them in another process, beside the caller. namespaces_make
 * with the same plan waits for it; calling this first is optional. */
void namespaces_begin(struct namespaces *s, const struct namespaces_plan *p);

/* *s is NAMESPACES_NONE, or what namespaces_begin began. Without a PID
 * namespace if the machine does not allow one; ERR_UNSUPPORTED if it allows no
 * namespaces at all. */
int namespaces_make(struct namespaces *s, const struct namespaces_plan *p,
		    struct err *e);

/* Ends all processes in the PID namespace without waiting. */
void namespaces_end(struct namespaces *s);

/* The same, and returns when all of them are gone. */
void namespaces_drop(struct namespaces *s);

/* Like fork, but the child runs fn, which does not return, in the PID
 * namespace. The child enters the others with namespaces_enter. -1 with
 * errno. */
pid_t namespaces_start(const struct namespaces *s, void (*fn)(void *),
		       void *arg);

/* In that child. -1 with errno. System calls only. */
int namespaces_enter(const struct namespaces *s);

#endif
