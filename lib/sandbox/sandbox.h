#ifndef LIB_SANDBOX_SANDBOX_H
#define LIB_SANDBOX_SANDBOX_H

#include "lib/base/err.h"
#include "lib/sandbox/landlock.h"
#include "lib/sandbox/namespaces.h"
#include "lib/sandbox/seccomp.h"

/*
 * A sandbox that is ready for commands. Everything that can fail or allocates
 * memory is done when it is made; a forked child enters it with system calls
 * only. Parts that the machine does not support are left out; a caller that
 * requires them checks sandbox_missing before.
 */
struct sandbox_plan {
	const struct sandbox_spec *spec;   /* borrowed, like all texts */
	struct namespaces_plan namespaces; /* without kept and limits */
	const char *workspace;             /* as commands see it */
	struct sandbox_paths shown;        /* readable even if hidden */
	const char *home;                  /* $HOME of the commands, or NULL */
	const char *own; /* directory of the agent's file, or NULL */
};

/* Names everything in the plan that is in a home by its real path. Before the plan is used; texts and the settings are copied to a. */
void sandbox_plan_resolve(struct sandbox_plan *p, struct arena *a);

struct sandbox {
	struct namespaces namespaces; /* .mnt -1: none */
	struct err namespaces_error;  /* why */
	struct landlock files;        /* .ruleset -1: none */
	const struct sock_fprog *filter;
	struct sandbox_limits limits;
	int workspace; /* O_PATH, as commands see it; -1 without a sandbox */
	int oom;       /* our OOM score; -1 */
	int oom_score;
	struct rules *rules; /* while a thread creates them; or NULL */
};

#define SANDBOX_NONE                                                     \
	{                                                                \
		.namespaces = NAMESPACES_NONE, .files = {.ruleset = -1}, \
		.workspace = -1, .oom = -1                               \
	}

/* Starts creating its namespaces in another process and its rules in a thread,
 * beside the caller; sandbox_make with the same plan waits for them. Without
 * this call, *b must be SANDBOX_NONE. */
void sandbox_begin(struct sandbox *b, const struct sandbox_plan *p);

/* Makes the sandbox, and restricts the calling thread to what the commands may
 * access and the agent's own file: a worker needs no more. */
int sandbox_make(struct sandbox *b, const struct sandbox_plan *p,
		 struct err *e);

/* Ends all processes in it without waiting; sandbox_drop waits. */
void sandbox_end(struct sandbox *b);
void sandbox_drop(struct sandbox *b);

/* For a worker that starts no command: rules and a filter for itself only. */
int sandbox_self(const struct sandbox_plan *p, struct err *e);

/* The same for a process that serves a workspace and has finished its
 * privileged work: it keeps the capabilities to read and write files, and
 * writes no core. */
int sandbox_server(const struct sandbox_plan *p, struct err *e);

/* Like fork, but the child runs fn, which does not return. b NULL: no
 * sandbox. */
pid_t sandbox_start(const struct sandbox *b, void (*fn)(void *), void *arg);

/* In the child, in this order; -1 with errno. */
int sandbox_enter_namespaces(const struct sandbox *b);
int sandbox_enforce(const struct sandbox *b);

#endif
