#include "lib/json/base64.h"

#include <assert.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (INT_MAX / 4 * 3 - 3) /* whose base64 an int can count */

void base64_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_room(b, (n + 2) / 3 * 4);

	assert(n < BYTES_MAX);
	if (to)
		buf_grew(b, (size_t)EVP_EncodeBlock((unsigned char *)to, p,
						    (int)n));
}

/* OpenSSL takes '-' for the end of the text. */
static bool decode(unsigned char *to, const char *text, size_t n, size_t *size)
{
	EVP_ENCODE_CTX *ctx = EVP_ENCODE_CTX_new();
	int most = 0, rest = 0;
	bool ok;

	if (!ctx)
		abort();
	EVP_DecodeInit(ctx);
	ok = !memchr(text, '-', n) &&
	     EVP_DecodeUpdate(ctx, to, &most, (const unsigned char *)text,
			      (int)n) >= 0 &&
	     EVP_DecodeFinal(ctx, to + most, &rest) == 1;
	EVP_ENCODE_CTX_free(ctx);
	*size = (size_t)(most + rest);
	return ok;
}

int base64_decode(struct buf *b, const char *text, size_t n, struct err *e)
{
	unsigned char *to = malloc(n / 4 * 3 + 64);
	size_t size = 0;
	bool ok;

	if (!to)
		abort();
	ok = n < INT_MAX && decode(to, text, n, &size);
	if (ok)
		buf_add(b, to, size);
	free(to);
	return ok ? buf_ok(b, "base 64", e)
		  : err_set(e, ERR_INVALID, "invalid base64");
}
