#ifndef LIB_HTTP_AUTH_H
#define LIB_HTTP_AUTH_H

#include "lib/base/err.h"
#include "lib/base/hash.h"

#include <stdbool.h>

/* Bearer tokens, and checks against requests from other browser pages. */

#define HTTP_TOKEN_SIZE 72 /* "skep_" and 64 hex digits, with the NUL */

/* Creates a token, which is shown once; only its hash is stored. */
void http_token_new(char out[HTTP_TOKEN_SIZE]);
void http_token_hash(const char *token, char out[HASH_HEX]);
bool http_token_equal(const char *hash, const char *other); /* constant time */

/* The token of "Bearer TOKEN", or NULL. */
const char *http_bearer(const char *authorization);

/* Copies the value of a cookie from the header Cookie. False if it is absent,
 * empty or does not fit. */
bool http_cookie_get(const char *cookies, const char *name, char *out,
		     size_t size);

/* A browser that sends a cookie must also send this header with each change.
 * Pages of other sites cannot, even if the browser sends them the cookie. */
#define HTTP_CSRF_HEADER "X-Skep-CSRF"

/* Prevents DNS rebinding: Host must be a loopback name or address, or one of
 * `known` (NULL-ended or NULL). A port in it does not matter. */
bool http_host_is_ours(const char *host, const char *const *known);

/* An Origin is accepted if it is one of `allowed`, or http(s):// and our
 * Host. */
bool http_origin_is_ours(const char *origin, const char *host,
			 const char *const *allowed);

#endif
