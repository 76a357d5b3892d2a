#ifndef WORKER_DRIVER_PERMISSION_H
#define WORKER_DRIVER_PERMISSION_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

/*
 * Who may do what without being asked. Rules stand in an agent's definition:
 *
 *   "permissions": {"allow": ["read", "search", "execute:git *"],
 *                   "deny":  ["execute:*sudo*", "edit:*.lock"],
 *                   "ask":   ["execute:git push*"],
 *                   "default": "ask"}
 *
 * A rule is a kind of tool ("*": any), and maybe a pattern (* ? [a-z]; * goes
 * over / too). It is matched with the command of kind execute, else with the
 * paths, below the workspace without its name in front, else with the title.
 *
 * For deny and ask a path is matched as it is spelled, and without ".", ".."
 * and double slashes. Rules are about names: symbolic links are not resolved.
 *
 * deny wins over everything; then what a person allowed for the session; then
 * ask; then allow; then the default. A pattern denies or asks when anything
 * fits, and allows only when everything does: all paths, none with "..", and a
 * command that is one command and not a line for a shell.
 */
#define PERMISSION_PATHS 32

enum permit { PERMIT_ASK, PERMIT_ALLOW, PERMIT_DENY };

struct permission_rule {
	struct permission_rule *next;
	enum permit permit;
	bool granted;     /* by a person, for the session */
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

/* Reads the member "permissions" of a configuration; all in a. ERR_INVALID
 * names what is wrong. */
int permissions_read(struct permissions *p, const cJSON *config,
		     struct arena *a, struct err *e);

/* A rule that a person's answer made; texts are borrowed. */
void permissions_grant(struct permissions *p, enum permit permit,
		       const char *kind, const char *pattern, struct arena *a);

/* What is to be done; *rule is the text of the rule, NULL for the default. */
enum permit permissions_evaluate(const struct permissions *p,
				 const struct permission_subject *s,
				 const char **rule);

/* The pattern that fits exactly what the subject is about, or NULL if that is
 * not one thing. */
const char *permission_pattern(const struct permission_subject *s,
			       struct arena *a);

#endif
