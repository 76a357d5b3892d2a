#include "supervisor/channel/webhook/signature.h"

#include "lib/base/text.h"
#include "lib/json/base64.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX       4
#define SECRET_MIN     24 /* bytes, from the specification */
#define SECRET_MAX     512
#define ED25519_BYTES  32
#define SIGNATURE_MAX  64 /* bytes */
#define ID_MAX         256
#define SIGNATURES_MAX 16 /* signatures of a message that are checked */

enum kind { SECRET, PRIVATE, PUBLIC };

static const struct {
	const char *prefix, *version;
} kinds[] = {
	[SECRET] = {"whsec_", "v1,"},
	[PRIVATE] = {"whsk_", "v1a,"},
	[PUBLIC] = {"whpk_", "v1a,"},
};

struct key {
	enum kind kind;
	EVP_MAC_CTX *mac; /* of a secret; initialized with the key */
	EVP_PKEY *pair;   /* or the first half of one */
};

struct webhook_keys {
	struct key keys[KEYS_MAX];
	int n;
};

/* --- keys ------------------------------------------------------------- */

static int set_secret(struct key *k, const struct buf *bytes, struct err *e)
{
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, digest,
				       sizeof digest - 1),
		OSSL_PARAM_END,
	};
	EVP_MAC *hmac;

	if (bytes->n < SECRET_MIN)
		return err_set(e, ERR_CONFIG,
			       "the secret of a webhook must be whsec_ "
			       "followed by base64 of at least %d bytes",
			       SECRET_MIN);
	hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	k->mac = EVP_MAC_CTX_new(hmac);
	EVP_MAC_free(hmac);
	if (!k->mac ||
	    !EVP_MAC_init(k->mac, (unsigned char *)bytes->p, bytes->n, params))
		return err_set(e, ERR_INTERNAL,
			       "OpenSSL does not support HMAC-SHA256");
	return 0;
}

/* If a secret key contains its public half, the two must match. */
static bool belongs(const struct key *k, const unsigned char *public)
{
	unsigned char mine[ED25519_BYTES];
	size_t n = sizeof mine;

	return EVP_PKEY_get_raw_public_key(k->pair, mine, &n) == 1 &&
	       n == sizeof mine && !memcmp(mine, public, n);
}

static int set_pair(struct key *k, const struct buf *bytes, struct err *e)
{
	const unsigned char *p = (const unsigned char *)bytes->p;
	bool whole = k->kind == PRIVATE && bytes->n == 2 * ED25519_BYTES;

	if (bytes->n == ED25519_BYTES || whole)
		k->pair = k->kind == PRIVATE ? EVP_PKEY_new_raw_private_key(
						       EVP_PKEY_ED25519, NULL,
						       p, ED25519_BYTES)
					     : EVP_PKEY_new_raw_public_key(
						       EVP_PKEY_ED25519, NULL,
						       p, ED25519_BYTES);
	if (!k->pair)
		return err_set(e, ERR_CONFIG,
			       "the key of a webhook must be whsk_ (or "
			       "whpk_, only to verify) followed by base64 "
			       "of %d bytes",
			       ED25519_BYTES);
	if (whole && !belongs(k, p + ED25519_BYTES))
		return err_set(e, ERR_CONFIG,
			       "the halves of a whsk_ key belong to different "
			       "keys");
	return 0;
}

static int read_key(struct key *k, const char *line, size_t n, struct err *e)
{
	struct buf bytes = BUF_MAX(SECRET_MAX);
	struct err ignored;
	size_t skip = 0;
	int rc;

	for (k->kind = SECRET; k->kind <= PUBLIC; k->kind++) {
		skip = strlen(kinds[k->kind].prefix);
		if (n >= skip && !strncmp(line, kinds[k->kind].prefix, skip))
			break;
	}
	if (k->kind > PUBLIC ||
	    base64_decode(&bytes, line + skip, n - skip, &ignored))
		rc = err_set(e, ERR_CONFIG,
			     "the secret of a webhook must be whsec_ "
			     "followed by base64, or a key: whsk_ or whpk_");
	else
		rc = k->kind == SECRET ? set_secret(k, &bytes, e)
				       : set_pair(k, &bytes, e);
	if (bytes.p)
		OPENSSL_cleanse(bytes.p, bytes.n);
	buf_fini(&bytes);
	return rc;
}

int webhook_keys_new(struct webhook_keys **out, const char *text, struct err *e)
{
	struct webhook_keys *k = calloc(1, sizeof *k);
	int rc = 0;

	if (!k)
		abort();
	for (const char *at = text; rc == 0 && *at;) {
		size_t line = strcspn(at, "\n"), n = line;

		while (n > 0 && strchr(" \t\r", at[n - 1]))
			n--;
		if (n > 0 && k->n == KEYS_MAX)
			rc = err_set(e, ERR_CONFIG,
				     "a webhook can have at most %d secrets",
				     KEYS_MAX);
		else if (n > 0)
			rc = read_key(&k->keys[k->n++], at, n, e);
		at += line + (at[line] == '\n');
	}
	if (rc == 0 && k->n == 0)
		rc = err_set(e, ERR_CONFIG, "the file contains no secret");
	if (rc) {
		webhook_keys_free(k);
		return -1;
	}
	*out = k;
	return 0;
}

void webhook_keys_free(struct webhook_keys *k)
{
	for (int i = 0; k && i < k->n; i++) {
		EVP_MAC_CTX_free(k->keys[i].mac);
		EVP_PKEY_free(k->keys[i].pair);
	}
	free(k);
}

/* --- signing ---------------------------------------------------------- */

static bool add_to_mac(EVP_MAC_CTX *mac, const char *p, size_t n)
{
	return EVP_MAC_update(mac, (const unsigned char *)p, n) == 1;
}

/* The three parts of the signed text. */
struct text {
	const char *id, *timestamp;
	struct blob body;
};

static size_t by_secret(const struct key *k, const struct text *t,
			unsigned char out[SIGNATURE_MAX])
{
	size_t n = 0;

	/* without a key: with the one in the context */
	if (!EVP_MAC_init(k->mac, NULL, 0, NULL) ||
	    !add_to_mac(k->mac, t->id, strlen(t->id)) ||
	    !add_to_mac(k->mac, ".", 1) ||
	    !add_to_mac(k->mac, t->timestamp, strlen(t->timestamp)) ||
	    !add_to_mac(k->mac, ".", 1) ||
	    !add_to_mac(k->mac, t->body.p, t->body.n) ||
	    !EVP_MAC_final(k->mac, out, &n, SIGNATURE_MAX))
		return 0;
	return n;
}

/* Ed25519 signs the text as a whole. */
static bool by_pair(const struct key *k, const struct text *t, bool verify,
		    unsigned char *sig, size_t *n)
{
	struct buf all = BUF_MAX(ID_MAX + 64 + t->body.n);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const unsigned char *p;
	bool good;

	buf_addf(&all, "%s.%s.", t->id, t->timestamp);
	buf_add(&all, t->body.p, t->body.n);
	p = (const unsigned char *)all.p;
	if (verify)
		good = EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, k->pair) ==
			       1 &&
		       EVP_DigestVerify(ctx, sig, *n, p, all.n) == 1;
	else
		good = EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->pair) ==
			       1 &&
		       EVP_DigestSign(ctx, sig, n, p, all.n) == 1;
	EVP_MD_CTX_free(ctx);
	buf_fini(&all);
	return good;
}

int webhook_sign(struct webhook_keys *k, const char *id, int64_t timestamp,
		 struct blob body, struct buf *out, struct err *e)
{
	char when[24];
	struct text t = {id, when, body};
	size_t before = out->n;

	snprintf(when, sizeof when, "%lld", (long long)timestamp);
	for (int i = 0; i < k->n; i++) {
		const struct key *key = &k->keys[i];
		unsigned char sig[SIGNATURE_MAX];
		size_t n = sizeof sig;

		if (key->kind == PUBLIC)
			continue;
		if (key->kind == SECRET)
			n = by_secret(key, &t, sig);
		else if (!by_pair(key, &t, false, sig, &n))
			n = 0;
		if (n == 0)
			return err_set(e, ERR_INTERNAL,
				       "OpenSSL cannot sign a message");
		if (out->n > before)
			buf_addc(out, ' ');
		buf_adds(out, kinds[key->kind].version);
		base64_add(out, sig, n);
	}
	if (out->n == before)
		return err_set(e, ERR_CONFIG,
			       "the webhook has no secret to sign with");
	return buf_ok(out, "the signatures", e);
}

/* --- verifying -------------------------------------------------------- */

/* Base64 in its canonical form: padded, no spaces, no other alphabet. */
static bool decode_base64(struct buf *out, const char *text, size_t n)
{
	struct buf retryable = BUF_MAX(2 * SIGNATURE_MAX);
	struct err ignored;
	bool same;

	if (base64_decode(out, text, n, &ignored))
		return false;
	base64_add(&retryable, out->p, out->n);
	same = retryable.n == n && !memcmp(retryable.p, text, n);
	buf_fini(&retryable);
	return same;
}

/* Checks a signature in constant time. All are checked, valid or not. */
static bool is_valid(const struct key *k, const struct text *t,
		     const char *signature, size_t n)
{
	const char *version = kinds[k->kind].version;
	struct buf bytes = BUF_MAX(SIGNATURE_MAX + 1);
	unsigned char mine[SIGNATURE_MAX];
	size_t skip = strlen(version), size;
	bool good = false;

	if (n > skip && !strncmp(signature, version, skip) &&
	    decode_base64(&bytes, signature + skip, n - skip)) {
		size = bytes.n;
		if (k->kind != SECRET)
			good = by_pair(k, t, true, (unsigned char *)bytes.p,
				       &size);
		else
			good = by_secret(k, t, mine) == size &&
			       !CRYPTO_memcmp(bytes.p, mine, size);
	}
	buf_fini(&bytes);
	return good;
}

/* Does one of "v1,AAA v1a,BBB" match one of the keys? */
static bool any_valid(const struct webhook_keys *k, const struct text *t,
		      const char *signatures)
{
	bool found = false;

	for (int checked = 0; *signatures && checked < SIGNATURES_MAX;
	     checked++) {
		size_t n = strcspn(signatures, " ");

		for (int i = 0; i < k->n; i++)
			found |= is_valid(&k->keys[i], t, signatures, n);
		signatures += n + (signatures[n] == ' ');
	}
	return found;
}

int webhook_verify(struct webhook_keys *k, const struct webhook_claim *c,
		   struct err *e)
{
	struct text t = {c->id, c->timestamp, c->body};
	struct err ignored;
	int64_t when, off;

	if (!c->id || !c->timestamp || !c->signatures || !c->id[0] ||
	    strlen(c->id) > ID_MAX)
		return err_set(e, ERR_UNAUTHORIZED,
			       "the headers webhook-id, webhook-timestamp "
			       "and webhook-signature are required, once "
			       "each");
	if (text_i64("timestamp", c->timestamp, 0, INT64_C(1) << 40, &when,
		     &ignored))
		return err_set(e, ERR_UNAUTHORIZED,
			       "webhook-timestamp must be in seconds since "
			       "1970");
	if (!k || !any_valid(k, &t, c->signatures))
		return err_set(e, ERR_UNAUTHORIZED, "the signature is invalid");
	off = c->now_ms - when * 1000;
	if (off > c->tolerance_ms || off < -c->tolerance_ms)
		return err_set(e, ERR_UNAUTHORIZED,
			       "the timestamp of the message is too old or "
			       "in the future");
	return 0;
}
