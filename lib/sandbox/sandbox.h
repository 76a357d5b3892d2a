#ifndef LIB_SANDBOX_SANDBOX_H
#define LIB_SANDBOX_SANDBOX_H

#include "lib/base/err.h"
#include "lib/sandbox/landlock.h"
#include "lib/sandbox/namespaces.h"
#include "lib/sandbox/seccomp.h"

/*
 * A sandbox that is ready for commands to be put in. Everything that can fail or
 * takes memory is done when it is made; a child that was just forked enters it
 * by system calls alone. What the machine does not offer is left out; who must
 * have it asks sandbox_lacks before.
 */
struct sandbox_plan {
	const struct sandbox_spec *spec; /* borrowed, as all texts are */
	struct namespaces_plan space;    /* without kept and limits */
	const char *workspace;           /* as commands see it */
	struct sandbox_paths shown;      /* read even if they are hidden */
	const char *home;                /* $HOME of the commands, or NULL */
	const char *own;                 /* directory of the agent's file */
};

struct sandbox {
	struct namespaces space; /* .mnt -1: none */
	struct landlock files;   /* .ruleset -1: none */
	const struct sock_fprog *filter;
	struct sandbox_limits limits;
	int workspace; /* O_PATH, as commands see it; -1 if it has no box */
	int oom;       /* our score for want of memory; -1 */
	int oom_score;
	struct rules *rules; /* while they are made beside us; or NULL */
};

#define BOX_NONE                                                    \
	{                                                           \
		.space = NAMESPACES_NONE, .files = {.ruleset = -1}, \
		.workspace = -1, .oom = -1                          \
	}

/* Starts making its namespaces in another process and its rules in a thread,
 * beside the caller; sandbox_make with the same plan waits for them. Without it, *b
 * must be BOX_NONE. */
void sandbox_begin(struct sandbox *b, const struct sandbox_plan *p);

/* Makes it, and puts the calling thread under rules that allow what the commands
 * may and the agent's own file: a worker needs no more. */
int sandbox_make(struct sandbox *b, const struct sandbox_plan *p,
		 struct err *e);

/* Ends what is left in it and does not wait for it; sandbox_drop does. */
void sandbox_end(struct sandbox *b);
void sandbox_drop(struct sandbox *b);

/* For a worker that starts no command: rules and a filter for itself alone. */
int sandbox_self(const struct sandbox_plan *p, struct err *e);

/* The same for a process that serves a workspace, and has done all that took
 * rights: it keeps those to read and write files, and has no core. */
int sandbox_server(const struct sandbox_plan *p, struct err *e);

/* As fork, but the child runs fn, which does not return. b NULL: no box. */
pid_t sandbox_start(const struct sandbox *b, void (*fn)(void *), void *arg);

/* In the child, in this order; -1 with errno. */
int sandbox_enter_namespaces(const struct sandbox *b);
int sandbox_enforce(const struct sandbox *b);

#endif
