#ifndef LIB_HTTP_PARSE_H
#define LIB_HTTP_PARSE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Parsing of HTTP/1.1 messages: pure functions over bytes, without sockets. The
 * parser is strict, because two programs that read a message differently can be
 * attacked: CRLF only, no folded lines, no space before a colon, one length.
 */
struct http_pair {
	const char *name;
	const char *value;
};

#define HTTP_HEADERS_MAX 64

struct http_head {
	const char *method;
	const char *target; /* as sent: still percent-encoded */
	bool keep_alive;
	bool http_1_0; /* the peer cannot read chunks */
	bool chunked;
	bool expect_continue;
	int64_t length; /* of the body; 0 when none was announced */
	size_t nheaders;
	struct http_pair headers[HTTP_HEADERS_MAX];
};

/* The length of the head at buf including its blank line; 0: incomplete. */
size_t http_head_size(const char *buf, size_t n);

/* Parses a head of exactly n bytes in place: *h points into buf. -1 with
 * ERR_USAGE (400), ERR_HEADTOOBIG (431) or ERR_UNSUPPORTED (501). */
int http_head_parse(char *buf, size_t n, struct http_head *h, struct err *e);

/* The value of a header, or NULL. Names are compared without case. */
const char *http_head_get(const struct http_head *h, const char *name);

/* Decodes %XX in place (and + to space if `form`). -1 with ERR_USAGE for an
 * invalid escape, a NUL, a control character or invalid UTF-8. */
int http_decode(char *text, bool form, struct err *e);

/* Splits "a=1&b=2" in place into at most max pairs; returns how many. */
ssize_t http_query_parse(char *query, struct http_pair *out, size_t max,
			 struct err *e);

/* A chunked body, decoded as it arrives. All-zero is the initial state. */
struct http_chunks {
	int state;
	uint64_t left;
	size_t line; /* bytes of the current size or trailer line */
};

/* Appends the payload in p to body (its ceiling is the limit). *used is the
 * number of bytes consumed. Returns 1 at the end of the body, 0 if more is
 * needed, -1 with ERR_USAGE or ERR_TOOBIG. */
int http_chunks_read(struct http_chunks *c, const char *p, size_t n,
		     struct buf *body, size_t *used, struct err *e);

#endif
