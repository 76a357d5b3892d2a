/*
 * The plain functions of libcrypto, not its EVP interface: EVP loads a provider
 * at its first use, which costs every process 2 MB and a millisecond, and looks
 * the algorithm up by name for every hash. The plain functions are deprecated
 * in favour of EVP's choice of algorithms, which we do not need.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "lib/base/hash.h"

#include <openssl/sha.h>
#include <stdlib.h>

struct hash {
	SHA256_CTX ctx;
};

struct hash *hash_new(void)
{
	struct hash *h = malloc(sizeof *h);

	if (!h || !SHA256_Init(&h->ctx))
		abort();
	return h;
}

void hash_add(struct hash *h, const void *p, size_t n)
{
	if (!SHA256_Update(&h->ctx, p, n))
		abort();
}

void hash_end(struct hash *h, char out[HASH_HEX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char raw[SHA256_DIGEST_LENGTH];

	if (!SHA256_Final(raw, &h->ctx))
		abort();
	for (size_t i = 0; i < sizeof raw; i++) {
		*out++ = hex[raw[i] >> 4];
		*out++ = hex[raw[i] & 15];
	}
	*out = '\0';
	hash_free(h);
}

void hash_free(struct hash *h)
{
	free(h);
}

void hash_of(const void *p, size_t n, char out[HASH_HEX])
{
	struct hash *h = hash_new();

	hash_add(h, p, n);
	hash_end(h, out);
}
