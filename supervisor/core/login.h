#ifndef SUPERVISOR_CORE_LOGIN_H
#define SUPERVISOR_CORE_LOGIN_H

#include "lib/base/hash.h"
#include "supervisor/core/commands.h"

/*
 * Commands on logins of browsers. A login begins with a one-time code, which
 * the browser exchanges for a cookie within LOGIN_CODE_MS, or with a token. The
 * caller creates codes and cookies; only their hashes are stored.
 */
#define LOGIN_CODE_MS     (5 * 60 * 1000)
#define LOGIN_LIFETIME_MS (INT64_C(12) * 60 * 60 * 1000)
#define LOGIN_MAX         256 /* the oldest login ends when there are more */

struct supervisor_login {
	const char *name;    /* of the device */
	const char *hash;    /* of the code */
	const char *scopes;  /* a JSON array of scope names */
	int64_t lifetime_ms; /* of the login; 0: LOGIN_LIFETIME_MS */
	const char *by;      /* who asked for it, for the audit log */
};

int supervisor_login_code(struct supervisor *s,
			  const struct supervisor_login *l,
			  struct completion done, struct err *e);

/* What a browser presents, and the cookie that it gets. */
struct supervisor_sign_in {
	const char *code_hash;  /* of a one-time code; or NULL, and … */
	const char *token_hash; /* … that of a token */
	const char *cookie_hash;
	const char *browser; /* User-Agent, or NULL */
};

/* The id of the result is that of the login. ERR_UNAUTHORIZED: the code or the
 * token is unknown, used or expired. */
int supervisor_login_open(struct supervisor *s,
			  const struct supervisor_sign_in *in,
			  struct completion done, struct err *e);

int supervisor_login_end(struct supervisor *s, const char *id, const char *by,
			 struct completion done, struct err *e);

#endif
