#ifndef LIB_SANDBOX_RULES_H
#define LIB_SANDBOX_RULES_H

#include "lib/sandbox/sandbox.h"

/*
 * The Landlock rules of a sandbox: for its commands, and for the worker itself.
 * Most of the rules concern paths of the host and do not need the namespaces of
 * the sandbox. So a thread can create these while the caller does something
 * else; the rest, about what is mounted for the commands, follows when the
 * sandbox has its namespaces.
 */
enum rules_for { RULES_COMMAND, RULES_WORKER, RULES_KINDS };

/* Starts the thread; NULL: it could not be started. The plan must not
 * change. */
struct rules *rules_begin(const struct sandbox_plan *p);

/* Waits for the thread and frees what was not used. Accepts NULL. */
void rules_end(struct rules *r);

/* *out is a ruleset for a sandbox whose namespaces exist. r, or NULL, is from
 * the same plan. ERR_UNSUPPORTED without Landlock. */
int rules_make(struct rules *r, enum rules_for who,
	       const struct sandbox_plan *p, const struct sandbox *b,
	       struct landlock *out, struct err *e);

/* Opens a path as the commands of the sandbox see it; O_PATH, -1 with errno. */
int rules_open_visible(const struct sandbox *b, const struct written *w,
		       const char *path);

#endif
