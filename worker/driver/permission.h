#ifndef WORKER_DRIVER_PERMISSION_H
#define WORKER_DRIVER_PERMISSION_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

/*
 * Permission rules. They are in the definition of an agent:
 *
 *   "permissions": {"allow": ["read", "search", "execute:git *"],
 *                   "deny":  ["execute:*sudo*", "edit:*.lock"],
 *                   "ask":   ["execute:git push*"],
 *                   "default": "ask"}
 *
 * A rule is a kind of tool ("*": any), optionally with a pattern (* ? [a-z]; *
 * also matches /). It is matched with the command for the kind execute, else
 * with the paths, which are relative to the workspace if they are below it,
 * else with the title.
 *
 * For deny and ask, a path is matched both as written, and without ".", ".."
 * and double slashes. Rules apply to names: symbolic links are not resolved.
 *
 * deny overrides everything; then permissions of a user for the session; then
 * ask; then allow; then the default. A pattern denies or asks if anything
 * matches, and allows only if everything does: all paths, none with "..", and a
 * command that is a single command and not a line for a shell.
 */
#define PERMISSION_PATHS 32

enum permit { PERMIT_ASK, PERMIT_ALLOW, PERMIT_DENY };

struct permission_rule {
	struct permission_rule *next;
	enum permit permit;
	bool granted;     /* by a user, for the session */
	const char *text; /* "execute:git *" */
	const char *kind;
	const char *pattern; /* NULL: any */
};

struct permissions {
	struct permission_rule *rules;
	enum permit other; /* the default */
};

struct permission_subject {
	const char *kind;
	const char *title;
	const char *command; /* or NULL */
	const char *paths[PERMISSION_PATHS];
	int npaths;
	bool more; /* there are more paths than fit */
};

/* Reads the member "permissions" of a configuration; everything is in a.
 * ERR_INVALID names the invalid member. */
int permissions_read(struct permissions *p, const cJSON *config,
		     struct arena *a, struct err *e);

/* Adds a rule from the answer of a user; texts are borrowed. */
void permissions_grant(struct permissions *p, enum permit permit,
		       const char *kind, const char *pattern, struct arena *a);

/* Returns the decision; *rule is the text of the rule, NULL for the default. */
enum permit permissions_evaluate(const struct permissions *p,
				 const struct permission_subject *s,
				 const char **rule);

/* The pattern that matches exactly the subject, or NULL if the subject is not a
 * single thing. */
const char *permission_pattern(const struct permission_subject *s,
			       struct arena *a);

#endif
