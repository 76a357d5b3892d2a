#ifndef SUPERVISOR_CORE_TOKEN_H
#define SUPERVISOR_CORE_TOKEN_H

#include "supervisor/core/commands.h"

/* Commands on the tokens of the TCP port. The caller creates the secret and its
 * hash. */
struct supervisor_token {
	const char *name, *hash;
	const char *scopes;  /* a JSON array of scope names */
	int64_t lifetime_ms; /* 0: does not expire */
	const char *by;      /* who asked for it, for the audit log */
};

int supervisor_token_add(struct supervisor *s, const struct supervisor_token *t,
			 struct completion done, struct err *e);
int supervisor_token_delete(struct supervisor *s, const char *name,
			    const char *by, struct completion done,
			    struct err *e);

#endif
