#ifndef SUPERVISOR_CHANNEL_WEBHOOK_SIGNATURE_H
#define SUPERVISOR_CHANNEL_WEBHOOK_SIGNATURE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdint.h>

/*
 * Signatures of the Standard Webhooks specification, over "ID.TIMESTAMP.BODY":
 * "v1," and base 64 of HMAC-SHA256, by a secret "whsec_…"; or "v1a," and base 64
 * of Ed25519, by a secret key "whsk_…", whose public key "whpk_…" verifies.
 *
 * Keys are read once: to look an algorithm up and to set a key takes OpenSSL
 * several times as long as a signature.
 */
struct webhook_keys;

/* `text` is the content of a file: up to four keys, one a line, the newest
 * first. ERR_CONFIG says what is wrong. */
int webhook_keys_new(struct webhook_keys **out, const char *text,
		     struct err *e);
void webhook_keys_free(struct webhook_keys *k); /* NULL is fine */

/* Adds the signatures by every key that can sign, space between, so that a
 * receiver may know any of them (rotation). timestamp is in seconds. */
int webhook_sign(struct webhook_keys *k, const char *id, int64_t timestamp,
		 struct blob body, struct buf *out, struct err *e);

/* Headers of a message as received, or NULL, and the current time. */
struct webhook_claim {
	const char *id, *timestamp, *signatures;
	struct blob body;
	int64_t now_ms, tolerance_ms;
};

/* Succeeds if one of the signatures matches one of the keys; otherwise
 * ERR_UNAUTHORIZED. Only a sender with a valid key learns that its timestamp is
 * wrong. NULL keys never match. */
int webhook_verify(struct webhook_keys *k, const struct webhook_claim *c,
		   struct err *e);

#endif
