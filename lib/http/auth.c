#include "lib/http/auth.h"

#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>

#include "lib/base/id.h"

void http_token_new(char out[HTTP_TOKEN_SIZE])
{
	unsigned char secret[32];

	id_random(secret, sizeof secret);
	memcpy(out, "skep_", 5);
	for (size_t i = 0; i < sizeof secret; i++)
		snprintf(out + 5 + 2 * i, 3, "%02x", secret[i]);
	OPENSSL_cleanse(secret, sizeof secret);
}

void http_token_hash(const char *token, char out[HASH_HEX])
{
	hash_of(token, strlen(token), out);
}

bool http_token_equal(const char *hash, const char *other)
{
	return strlen(hash) == HASH_HEX - 1 && strlen(other) == HASH_HEX - 1 &&
	       CRYPTO_memcmp(hash, other, HASH_HEX - 1) == 0;
}

const char *http_bearer(const char *authorization)
{
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return NULL;
	authorization += 7 + strspn(authorization + 7, " ");
	return *authorization ? authorization : NULL;
}

bool http_cookie_get(const char *cookies, const char *name, char *out,
		     size_t size)
{
	size_t n = strlen(name);

	while (cookies && *cookies) {
		size_t len = strcspn(cookies, ";");

		if (len > n + 1 && cookies[n] == '=' &&
		    strncmp(cookies, name, n) == 0 && len - n - 1 < size) {
			memcpy(out, cookies + n + 1, len - n - 1);
			out[len - n - 1] = '\0';
			return true;
		}
		cookies += len;
		cookies += strspn(cookies, "; ");
	}
	return false;
}

/* The length of the host in host[:port] or [v6]:port; 0: malformed. */
static size_t host_size(const char *host)
{
	size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

	if (n > strlen(host))
		return 0;
	if (host[n] == '\0')
		return n;
	if (host[n] != ':' ||
	    strspn(host + n + 1, "0123456789") != strlen(host + n + 1))
		return 0;
	return n;
}

static bool is_name(const char *p, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(p, name, n) == 0;
}

bool http_host_is_ours(const char *host, const char *const *known)
{
	size_t n = host ? host_size(host) : 0;

	if (n == 0)
		return false;
	if (is_name(host, n, "localhost") || is_name(host, n, "127.0.0.1") ||
	    is_name(host, n, "[::1]"))
		return true;
	for (; known && *known; known++)
		if (is_name(host, n, *known))
			return true;
	return false;
}

bool http_origin_is_ours(const char *origin, const char *host,
			 const char *const *allowed)
{
	for (; allowed && *allowed; allowed++)
		if (strcasecmp(origin, *allowed) == 0)
			return true;
	if (strncmp(origin, "http://", 7) == 0)
		origin += 7;
	else if (strncmp(origin, "https://", 8) == 0)
		origin += 8;
	else
		return false;
	return strcasecmp(origin, host) == 0;
}
