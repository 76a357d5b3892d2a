#include "base/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct hash {
	EVP_MD_CTX *ctx;
};

struct hash *hash_new(void)
{
	struct hash *h = malloc(sizeof *h);

	if (!h)
		abort();
	h->ctx = EVP_MD_CTX_new();
	if (!h->ctx || !EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL))
		abort();
	return h;
}

void hash_add(struct hash *h, const void *p, size_t n)
{
	if (!EVP_DigestUpdate(h->ctx, p, n))
		abort();
}

void hash_end(struct hash *h, char out[HASH_HEX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!EVP_DigestFinal_ex(h->ctx, raw, &n))
		abort();
	for (unsigned i = 0; i < n; i++) {
		*out++ = hex[raw[i] >> 4];
		*out++ = hex[raw[i] & 15];
	}
	*out = '\0';
	hash_free(h);
}

void hash_free(struct hash *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->ctx);
	free(h);
}

void hash_of(const void *p, size_t n, char out[HASH_HEX])
{
	struct hash *h = hash_new();

	hash_add(h, p, n);
	hash_end(h, out);
}
