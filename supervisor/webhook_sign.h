#ifndef SUPERVISOR_WEBHOOK_SIGN_H
#define SUPERVISOR_WEBHOOK_SIGN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/shape.h"

#include <stdint.h>

/*
 * Signatures of the Standard Webhooks specification: "v1," and the base 64 of
 * HMAC-SHA256 over "ID.TIMESTAMP.BODY". A secret is "whsec_" and base 64.
 */
#define WEBHOOK_SIGNATURE 64 /* with the NUL */

/* `secrets` is the content of a file: one a line, the newest first. */
int webhook_check_secrets(const char *secrets, struct err *e);

/* Signs with the first secret. timestamp is in seconds. */
int webhook_sign(const char *secrets, const char *id, int64_t timestamp,
		 struct blob body, char out[WEBHOOK_SIGNATURE], struct err *e);

/* What the sender claims, and our clock: headers are as received, or NULL. */
struct webhook_claim {
	const char *id, *timestamp, *signatures;
	struct blob body;
	int64_t now_ms, tolerance_ms;
};

/* Any of the signatures by any of the secrets will do. ERR_UNAUTHORIZED; never
 * says which part was wrong, except the time. */
int webhook_verify(const char *secrets, const struct webhook_claim *c,
		   struct err *e);

#endif
