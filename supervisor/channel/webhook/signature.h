#ifndef SUPERVISOR_CHANNEL_WEBHOOK_SIGNATURE_H
#define SUPERVISOR_CHANNEL_WEBHOOK_SIGNATURE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdint.h>

/*
 * Signatures of the Standard Webhooks specification, over "ID.TIMESTAMP.BODY":
 * "v1," and the base64 of HMAC-SHA256, with a secret "whsec_…"; or "v1a," and
 * the base64 of Ed25519, with a secret key "whsk_…", which the public key
 * "whpk_…" verifies.
 *
 * Keys are read once: fetching an algorithm and setting a key takes OpenSSL
 * several times as long as a signature.
 */
struct webhook_keys;

/* `text` is the content of a file: up to four keys, one per line, the newest
 * first. ERR_CONFIG names the error. */
int webhook_keys_new(struct webhook_keys **out, const char *text,
		     struct err *e);
void webhook_keys_free(struct webhook_keys *k); /* accepts NULL */

/* Adds the signatures of all keys that can sign, separated by spaces, so that a
 * receiver may have any of the keys (rotation). timestamp is in seconds. */
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
