#ifndef LIB_HTTP_AUTH_H
#define LIB_HTTP_AUTH_H

#include "lib/base/err.h"
#include "lib/base/hash.h"

#include <stdbool.h>

/* Bearer tokens and the checks that keep a browser's other tabs out. */

#define HTTP_TOKEN_SIZE 72 /* "skep_" and 64 hex digits, with the NUL */

/* A new token, to be shown once; what is stored is its hash. */
void http_token_new(char out[HTTP_TOKEN_SIZE]);
void http_token_hash(const char *token, char out[HASH_HEX]);
bool http_token_equal(const char *hash, const char *other); /* constant time */

/* The token of "Bearer TOKEN", or NULL. */
const char *http_bearer(const char *authorization);

/* A page on another name that resolves to this machine must not get in: Host
 * has to be a loopback name or address, or one of `known` (NULL-ended or NULL).
 * A port in it does not matter. */
bool http_host_is_ours(const char *host, const char *const *known);

/* An Origin is fine if it is one of `allowed`, or http(s):// and our Host. */
bool http_origin_is_ours(const char *origin, const char *host,
			 const char *const *allowed);

#endif
