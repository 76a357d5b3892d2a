#include "supervisor/webhook_sign.h"

#include "base/base64.h"
#include "base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#define PREFIX     "whsec_"
#define SECRET_MAX 512
#define ID_MAX     256

/* The next secret of the list, decoded; false at the end. A line that is none
 * leaves `key` empty. */
static bool next_secret(const char **at, struct buf *key)
{
	size_t n = strcspn(*at, "\n"), skip = sizeof PREFIX - 1;
	const char *line = *at;
	struct err ignored;

	buf_clear(key);
	if (!*line)
		return false;
	*at = line + n + (line[n] == '\n');
	if (n > skip && !strncmp(line, PREFIX, skip) &&
	    base64_decode(key, line + skip, n - skip, &ignored))
		buf_clear(key);
	return true;
}

int webhook_check_secrets(const char *secrets, struct err *e)
{
	struct buf key = BUF_MAX(SECRET_MAX);
	const char *at = secrets;
	int rc = 0, n = 0;

	while (rc == 0 && next_secret(&at, &key)) {
		n++;
		if (key.n < 16)
			rc = err_set(e, ERR_CONFIG,
				     "a webhook's secret is whsec_ and base 64 "
				     "of at least 16 bytes");
	}
	buf_fini(&key);
	if (rc == 0 && n == 0)
		rc = err_set(e, ERR_CONFIG, "there is no secret in the file");
	return rc;
}

static void sign(const struct buf *key, const char *id, const char *timestamp,
		 struct blob body, char out[WEBHOOK_SIGNATURE])
{
	struct buf text = BUF_MAX(ID_MAX + 64 + body.n);
	struct buf sum = BUF_MAX(WEBHOOK_SIGNATURE);
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	buf_addf(&text, "%s.%s.", id, timestamp);
	buf_add(&text, body.p, body.n);
	HMAC(EVP_sha256(), key->p, (int)key->n, (unsigned char *)text.p, text.n,
	     mac, &n);
	base64_add(&sum, mac, n);
	snprintf(out, WEBHOOK_SIGNATURE, "v1,%s", sum.p);
	buf_fini(&text);
	buf_fini(&sum);
}

int webhook_sign(const char *secrets, const char *id, int64_t timestamp,
		 struct blob body, char out[WEBHOOK_SIGNATURE], struct err *e)
{
	struct buf key = BUF_MAX(SECRET_MAX);
	const char *at = secrets;
	char when[24];
	int rc = 0;

	snprintf(when, sizeof when, "%lld", (long long)timestamp);
	if (!next_secret(&at, &key) || key.n == 0)
		rc = err_set(e, ERR_CONFIG, "the webhook has no good secret");
	else
		sign(&key, id, when, body, out);
	buf_fini(&key);
	return rc;
}

/* Is it among "v1,AAA v1,BBB"? All are compared, in constant time each. */
static bool is_among(const char *signatures, const char *good)
{
	size_t want = strlen(good);
	bool found = false;

	while (*signatures) {
		size_t n = strcspn(signatures, " ");

		if (n == want && !CRYPTO_memcmp(signatures, good, want))
			found = true;
		signatures += n + (signatures[n] == ' ');
	}
	return found;
}

int webhook_verify(const char *secrets, const struct webhook_claim *c,
		   struct err *e)
{
	struct buf key = BUF_MAX(SECRET_MAX);
	const char *at = secrets;
	char good[WEBHOOK_SIGNATURE];
	bool found = false;
	struct err ignored;
	int64_t when, off;

	if (!c->id || !c->timestamp || !c->signatures || !c->id[0] ||
	    strlen(c->id) > ID_MAX)
		return err_set(e, ERR_UNAUTHORIZED,
			       "webhook-id, webhook-timestamp and "
			       "webhook-signature are needed");
	if (text_i64("timestamp", c->timestamp, 0, INT64_C(1) << 40, &when,
		     &ignored))
		return err_set(e, ERR_UNAUTHORIZED,
			       "webhook-timestamp is in seconds since 1970");
	off = c->now_ms - when * 1000;
	if (off > c->tolerance_ms || off < -c->tolerance_ms)
		return err_set(e, ERR_UNAUTHORIZED,
			       "the message is too old or too early");
	while (next_secret(&at, &key)) {
		if (key.n == 0)
			continue;
		sign(&key, c->id, c->timestamp, c->body, good);
		found |= is_among(c->signatures, good);
	}
	buf_fini(&key);
	if (!found)
		return err_set(e, ERR_UNAUTHORIZED, "the signature is wrong");
	return 0;
}
