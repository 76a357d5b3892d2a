#ifndef SCHEMA_CONTROL_RUN_WORKSPACE_H
#define SCHEMA_CONTROL_RUN_WORKSPACE_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "schema/control/run.h"

#include <stdbool.h>

/*
 * The workspace of a run: what its request says, or its session, or the
 * definition of its agent, in this order; or what follows from the mode of the
 * agent: its directory (disk), or the namespace main.
 */
#define WORKSPACE_MAIN "main"

/* Does the run create the namespace? */
#define WORKSPACE_NEVER   "never"   /* it must exist */
#define WORKSPACE_MISSING "missing" /* unless it exists */
#define WORKSPACE_ALWAYS  "always"  /* it must not exist */

struct run_workspace {
	const char *dir;  /* of the host; NULL: it is a namespace */
	const char *name; /* of the namespace */
	const char *make; /* one of the three words */
	/* NAMESPACE[@SNAPSHOT] that a new one is forked from, or NULL; of
	 * another agent, or NULL */
	const char *fork_of, *fork_agent;
	const char *base; /* lower directory of a new one, or NULL */
	bool ephemeral;   /* it is deleted when the attempt ends */
	bool share;       /* runs that share it do not wait for each other */
};

/* Whether the members of a request fit together. */
int run_workspace_check(const struct run_request *request, struct err *e);
bool run_workspace_is_new(const struct run_request *request);

/* The members `namespace` of a definition, and `share` in it. */
int run_workspace_check_definition(const cJSON *spec, const char *mode,
				   struct err *e);

/* session: the namespace that the session names, or NULL. dir: the directory of
 * the agent. Texts are borrowed, or in the arena. */
struct run_workspace_choice {
	const struct run_active_row *run;
	const char *session, *mode, *dir;
	const cJSON *spec;
};
int run_workspace_choose(struct run_workspace *out,
			 const struct run_workspace_choice *c, struct arena *a,
			 struct err *e);

#endif
