#ifndef LIB_SANDBOX_RULES_H
#define LIB_SANDBOX_RULES_H

#include "lib/sandbox/sandbox.h"

/*
 * The Landlock rules of a box: for its commands, and for the worker itself. Most
 * of the rules are about paths of the host and do not need the namespaces of the
 * box. So a thread can make these while the caller does something else; the
 * rest, about what is mounted for the commands, follows when the box has them.
 */
enum rules_for { RULES_COMMAND, RULES_WORKER, RULES_KINDS };

/* Starts the thread; NULL: there is none. The plan must stay as it is. */
struct rules *rules_begin(const struct sandbox_plan *p);

/* Waits for the thread and drops what nobody has taken. NULL is fine. */
void rules_end(struct rules *r);

/* *out is a ruleset for a box whose namespaces are made. r, or NULL, is of the
 * same plan. ERR_UNSUPPORTED where there is no Landlock. */
int rules_make(struct rules *r, enum rules_for who,
	       const struct sandbox_plan *p, const struct sandbox *b,
	       struct landlock *out, struct err *e);

/* A path as the commands of the box see it; O_PATH, -1 with errno. */
int rules_open_seen(const struct sandbox *b, const char *path);

#endif
