#include "ops/import/importers/json5.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GROWTH 6 /* a byte becomes \u00xx at most; and a little more */

struct reader {
	const char *at, *end;
	struct buf *out;
	char before; /* the last byte that was not white space */
};

static bool is_name(char c)
{
	return c == '_' || c == '$' || (c >= '0' && c <= '9') ||
	       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* --- what is between words ------------------------------------------------ */

/* The length of white space that JSON does not have, in UTF-8, or 0. */
static size_t odd_space(const char *p, const char *end)
{
	static const char *const spaces[] = {"\v",           "\f",
					     "\xc2\xa0",     "\xef\xbb\xbf",
					     "\xe2\x80\xa8", "\xe2\x80\xa9"};

	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		size_t n = strlen(spaces[i]);

		if ((size_t)(end - p) >= n && !memcmp(p, spaces[i], n))
			return n;
	}
	return 0;
}

/* The length of a comment, or 0. An unterminated comment is not one. */
static size_t comment(const char *p, const char *end)
{
	const char *stop;

	if (end - p < 2 || p[0] != '/')
		return 0;
	if (p[1] == '/') {
		stop = memchr(p, '\n', (size_t)(end - p));
		return (size_t)((stop ? stop : end) - p);
	}
	stop = p[1] == '*' ? memmem(p + 2, (size_t)(end - p - 2), "*/", 2)
			   : NULL;
	return stop ? (size_t)(stop + 2 - p) : 0;
}

static size_t gap(const char *p, const char *end)
{
	size_t n = 0, more = 1;

	while (more > 0 && p + n < end) {
		more = strchr(" \t\r\n", p[n]) && p[n] ? 1
						       : odd_space(p + n, end);
		if (!more)
			more = comment(p + n, end);
		n += more;
	}
	return n;
}

/* Keeps line breaks, so that errors of json_parse have the right line. */
static void copy_gap(struct reader *r, size_t n)
{
	for (; n > 0; n--, r->at++)
		buf_addc(r->out, *r->at == '\n' ? '\n' : ' ');
}

/* The first byte after white space and comments; 0 at the end. */
static char beyond(const struct reader *r, const char *p)
{
	p += gap(p, r->end);
	return p < r->end ? *p : '\0';
}

/* --- words ---------------------------------------------------------------- */

/* Copies a byte of a string in JSON's form. */
static void add_byte(struct reader *r, char c)
{
	if (c == '"' || c == '\\')
		buf_addf(r->out, "\\%c", c);
	else if ((unsigned char)c < 0x20)
		buf_addf(r->out, "\\u%04x", (unsigned)(unsigned char)c);
	else
		buf_addc(r->out, c);
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* After the backslash. Escapes that JSON has are kept. */
static void escape(struct reader *r)
{
	char c = *r->at;

	if (strchr("\"\\/bfnrtu", c) && c) {
		buf_addf(r->out, "\\%c", c);
	} else if (c == 'v' || c == '0') {
		buf_adds(r->out, c == 'v' ? "\\u000b" : "\\u0000");
	} else if (c == 'x' && r->end - r->at > 2 && hex(r->at[1]) >= 0 &&
		   hex(r->at[2]) >= 0) {
		buf_addf(r->out, "\\u00%.2s", r->at + 1);
		r->at += 2;
	} else if (c == '\r' && r->end - r->at > 1 && r->at[1] == '\n') {
		r->at++; /* the line continues */
	} else if (c != '\n' && c != '\r') {
		add_byte(r, c);
	}
	r->at++;
}

/* A string in any quotes. A string that does not end, or contains a line break,
 * is left open, so that json_parse reports it. */
static void string(struct reader *r)
{
	char quote = *r->at++;

	buf_addc(r->out, '"');
	while (r->at < r->end && *r->at != quote && *r->at != '\n') {
		if (*r->at == '\\' && r->at + 1 < r->end) {
			r->at++;
			escape(r);
		} else {
			add_byte(r, *r->at++);
		}
	}
	if (r->at < r->end && *r->at == quote) {
		buf_addc(r->out, '"');
		r->at++;
	}
}

/* true, false and null, unless they are member names; numbers; names. */
static void word(struct reader *r, size_t n)
{
	if (beyond(r, r->at + n) == ':' && (*r->at < '0' || *r->at > '9')) {
		buf_addc(r->out, '"');
		buf_add(r->out, r->at, n);
		buf_addc(r->out, '"');
	} else {
		buf_add(r->out, r->at, n);
	}
	r->at += n;
}

static size_t digits(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] >= '0' && p[n] <= '9')
		n++;
	return n;
}

static bool hex_number(struct reader *r)
{
	const char *p = r->at + 2;
	uint64_t n = 0;

	if (r->end - r->at < 3 || r->at[0] != '0' ||
	    (r->at[1] != 'x' && r->at[1] != 'X') || hex(*p) < 0)
		return false;
	for (; p < r->end && hex(*p) >= 0; p++) {
		if (n >> 60)
			return false;
		n = n << 4 | (uint64_t)hex(*p);
	}
	buf_addf(r->out, "%" PRIu64, n);
	r->at = p;
	return true;
}

/* Forms that JSON's numbers lack: a leading +, a point without digits on one
 * side, and 0x. The rest is copied. */
static void copy_number(struct reader *r)
{
	size_t n;

	if (*r->at == '+' || *r->at == '-') {
		if (*r->at == '-')
			buf_addc(r->out, '-');
		r->at++;
	}
	if (hex_number(r))
		return;
	n = digits(r->at, r->end);
	buf_add(r->out, r->at, n);
	r->at += n;
	if (r->at < r->end && *r->at == '.') {
		if (n == 0)
			buf_addc(r->out, '0');
		buf_addc(r->out, '.');
		n = digits(++r->at, r->end);
		if (n == 0)
			buf_addc(r->out, '0');
		buf_add(r->out, r->at, n);
		r->at += n;
	}
}

/* A comma after a value and before a closing bracket. */
static bool may_go(const struct reader *r)
{
	char next = *r->at == ',' ? beyond(r, r->at + 1) : '\0';

	return (next == ']' || next == '}') && r->before &&
	       !strchr("[{,:", r->before);
}

static void one(struct reader *r)
{
	size_t n = gap(r->at, r->end);
	char c = n ? '\0' : *r->at;

	if (n) {
		copy_gap(r, n);
	} else if (c == '"' || c == '\'') {
		string(r);
	} else if ((c >= '0' && c <= '9') || (c && strchr("+-.", c))) {
		copy_number(r);
		/* an exponent, or an error */
		for (n = 0; r->at + n < r->end &&
			    (is_name(r->at[n]) ||
			     (n > 0 && strchr("+-", r->at[n]) && r->at[n]));)
			n++;
		buf_add(r->out, r->at, n);
		r->at += n;
	} else if (is_name(c)) {
		while (r->at + n < r->end && is_name(r->at[n]) &&
		       !odd_space(r->at + n, r->end))
			n++;
		word(r, n);
	} else {
		if (!may_go(r))
			buf_addc(r->out, c);
		r->at++;
	}
	if (c)
		r->before = r->at[-1];
}

cJSON *json5_parse_object(const char *what, const char *text, size_t n,
			  struct err *e)
{
	struct buf out = BUF_MAX(n * GROWTH + 64);
	struct reader r = {text, text + n, &out, 0};
	cJSON *v = NULL;

	while (r.at < r.end)
		one(&r);
	if (!buf_ok(&out, what, e))
		v = json_parse_object(what, out.p ? out.p : "", out.n, e);
	buf_fini(&out);
	return v;
}
