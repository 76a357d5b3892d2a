#ifndef LIB_BASE_HASH_H
#define LIB_BASE_HASH_H

#include <stddef.h>

/* SHA-256, of one buffer or incrementally, as 64 lower-case hex digits. */
#define HASH_HEX 65 /* including the NUL */

struct hash; /* heap object over OpenSSL's SHA-256 */

struct hash *hash_new(void);
void hash_add(struct hash *h, const void *p, size_t n);
void hash_end(struct hash *h, char out[HASH_HEX]); /* frees h */
void hash_free(struct hash *h);                    /* accepts NULL */

void hash_of(const void *p, size_t n, char out[HASH_HEX]);

#endif
