#include "lib/http/parse.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/text.h"

#define CHUNK_LINE_MAX 256 /* a size with extensions, or a trailer */

size_t http_head_size(const char *buf, size_t n)
{
	const char *end = memmem(buf, n, "\r\n\r\n", 4);

	return end ? (size_t)(end - buf) + 4 : 0;
}

static bool is_token_char(unsigned char c)
{
	return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!is_token_char((unsigned char)*s))
			return false;
	return true;
}

/* Printable ASCII, the high bytes of UTF-8 and tabs: no NUL, no line break. */
static bool is_field_text(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* "METHOD SP target SP HTTP/1.x" */
static int parse_request_line(char *line, struct http_head *h, struct err *e)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version || strchr(version + 1, ' '))
		return err_set(
			e, ERR_USAGE,
			"the request line must be METHOD TARGET VERSION");
	*target++ = '\0';
	*version++ = '\0';
	if (!is_token(line))
		return err_set(e, ERR_USAGE, "the method is not a token");
	if (*target != '/')
		return err_set(e, ERR_USAGE, "the target must start with /");
	if (strcmp(version, "HTTP/1.1") != 0 &&
	    strcmp(version, "HTTP/1.0") != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "only HTTP/1.1 and HTTP/1.0 are supported");
	h->method = line;
	h->target = target;
	h->http_1_0 = version[7] == '0';
	h->keep_alive = !h->http_1_0;
	return 0;
}

static int parse_header(char *line, struct http_head *h, struct err *e)
{
	char *colon = strchr(line, ':');
	char *value, *end;

	if (!colon)
		return err_set(e, ERR_USAGE, "a header line has no colon");
	*colon = '\0';
	if (!is_token(line))
		return err_set(e, ERR_USAGE, "a header name is not a token");
	if (h->nheaders == HTTP_HEADERS_MAX)
		return err_set(e, ERR_HEADTOOBIG, "more than %d headers",
			       HTTP_HEADERS_MAX);
	value = colon + 1 + strspn(colon + 1, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	h->headers[h->nheaders++] = (struct http_pair){line, value};
	return 0;
}

static int parse_length(const char *value, struct http_head *h, struct err *e)
{
	int64_t n = 0;

	if (!*value)
		return err_set(e, ERR_USAGE, "Content-Length is empty");
	for (; *value; value++) {
		if (!isdigit((unsigned char)*value) || n > INT64_MAX / 10 - 10)
			return err_set(e, ERR_USAGE,
				       "Content-Length is not a number");
		n = n * 10 + (*value - '0');
	}
	h->length = n;
	return 0;
}

/* The headers that determine where the message ends. Ambiguity here allows
 * request smuggling, so any doubt is an error. */
static int read_framing(struct http_head *h, struct err *e)
{
	bool has_length = false;
	int hosts = 0;

	for (size_t i = 0; i < h->nheaders; i++) {
		const char *name = h->headers[i].name;
		const char *value = h->headers[i].value;

		if (strcasecmp(name, "Content-Length") == 0) {
			if (has_length)
				return err_set(e, ERR_USAGE,
					       "Content-Length occurs twice");
			has_length = true;
			if (parse_length(value, h, e))
				return -1;
		} else if (strcasecmp(name, "Transfer-Encoding") == 0) {
			if (h->chunked || strcasecmp(value, "chunked") != 0)
				return err_set(e, ERR_UNSUPPORTED,
					       "chunked is the only supported "
					       "transfer "
					       "encoding");
			h->chunked = true;
		} else if (strcasecmp(name, "Host") == 0) {
			hosts++;
		}
	}
	if (h->chunked && (has_length || h->http_1_0))
		return err_set(e, ERR_USAGE,
			       "Transfer-Encoding and Content-Length cannot be "
			       "used together");
	if (hosts > 1 || (!hosts && !h->http_1_0))
		return err_set(e, ERR_USAGE,
			       "exactly one Host header is required");
	return 0;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	while (*list) {
		list += strspn(list, " \t,");
		size_t len = strcspn(list, " \t,");

		if (len == n && strncasecmp(list, word, n) == 0)
			return true;
		list += len;
	}
	return false;
}

static void read_options(struct http_head *h)
{
	const char *connection = http_head_get(h, "Connection");
	const char *expect = http_head_get(h, "Expect");

	if (connection && has_word(connection, "close"))
		h->keep_alive = false;
	else if (connection && has_word(connection, "keep-alive"))
		h->keep_alive = true;
	h->expect_continue = expect && !h->http_1_0 &&
			     strcasecmp(expect, "100-continue") == 0;
}

int http_head_parse(char *buf, size_t n, struct http_head *h, struct err *e)
{
	char *end = buf + n - 2; /* the blank line */
	char *line = buf;

	*h = (struct http_head){0};
	while (line < end) {
		char *eol = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);

		if (!is_field_text(line, (size_t)(eol - line)))
			return err_set(e, ERR_USAGE,
				       "the request header contains control "
				       "characters");
		*eol = '\0';
		if (line == buf ? parse_request_line(line, h, e)
				: parse_header(line, h, e))
			return -1;
		line = eol + 2;
	}
	if (!h->method)
		return err_set(e, ERR_USAGE, "the request line is missing");
	read_options(h);
	return read_framing(h, e);
}

const char *http_head_get(const struct http_head *h, const char *name)
{
	for (size_t i = 0; i < h->nheaders; i++)
		if (strcasecmp(h->headers[i].name, name) == 0)
			return h->headers[i].value;
	return NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int http_decode(char *text, bool form, struct err *e)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		char c = *in;

		if (c == '%') {
			int hi = hex(in[1]);
			int lo = hi < 0 ? -1 : hex(in[2]);

			if (lo < 0)
				return err_set(e, ERR_USAGE,
					       "a %% in the URL is not "
					       "followed by two hex "
					       "digits");
			c = (char)(hi << 4 | lo);
			in += 2;
		} else if (c == '+' && form) {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return err_set(e, ERR_USAGE,
				       "the URL contains control characters");
		*out++ = c;
	}
	*out = '\0';
	if (!text_is_utf8(text, (size_t)(out - text)))
		return err_set(e, ERR_USAGE, "the URL is not UTF-8");
	return 0;
}

ssize_t http_query_parse(char *query, struct http_pair *out, size_t max,
			 struct err *e)
{
	size_t n = 0;
	char *rest = query;

	while (rest && *rest) {
		char *pair = strsep(&rest, "&");
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (n == max)
			return err_set(e, ERR_USAGE,
				       "more than %zu query parameters", max);
		if (value)
			*value++ = '\0';
		else
			value = pair + strlen(pair);
		if (http_decode(pair, true, e) || http_decode(value, true, e))
			return -1;
		out[n++] = (struct http_pair){pair, value};
	}
	return (ssize_t)n;
}

/*
 *   SIZE ── digit ──▶ SIZE ── ';' ──▶ EXT ── CR LF ──▶ DATA (or TRAILER if 0)
 *   DATA ── all ──▶ DATA_END ── CR LF ──▶ SIZE
 *   TRAILER ── empty line ──▶ the end; any other line is skipped
 */
enum {
	CH_SIZE,
	CH_EXT,
	CH_SIZE_LF,
	CH_DATA,
	CH_DATA_CR,
	CH_DATA_LF,
	CH_TRAILER,
	CH_TRAILER_LF,
	CH_END
};

static int chunk_size_char(struct http_chunks *c, char ch, struct err *e)
{
	int digit = hex(ch);

	if (c->state == CH_SIZE && digit >= 0 && c->left <= UINT64_MAX >> 8) {
		c->left = c->left << 4 | (uint64_t)digit;
		return 0;
	}
	if (c->line == 1) /* not even one digit */
		return err_set(e, ERR_USAGE, "a chunk has no size");
	if (ch == '\r')
		c->state = CH_SIZE_LF;
	else if (ch == ';' || c->state == CH_EXT)
		c->state = CH_EXT;
	else
		return err_set(e, ERR_USAGE, "a chunk's size is not a number");
	return 0;
}

/* One byte outside of chunk data. */
static int chunk_char(struct http_chunks *c, char ch, struct err *e)
{
	if (++c->line > CHUNK_LINE_MAX)
		return err_set(e, ERR_USAGE, "a chunk line is too long");
	switch (c->state) {
	case CH_SIZE:
	case CH_EXT:
		return chunk_size_char(c, ch, e);
	case CH_TRAILER:
		if (ch == '\r')
			c->state = CH_TRAILER_LF;
		return 0;
	case CH_DATA_CR:
		if (ch != '\r')
			return err_set(e, ERR_USAGE, "a chunk is too long");
		c->state = CH_DATA_LF;
		return 0;
	default:
		break;
	}
	if (ch != '\n')
		return err_set(e, ERR_USAGE, "a chunk line ends without LF");
	if (c->state == CH_SIZE_LF)
		c->state = c->left ? CH_DATA : CH_TRAILER;
	else if (c->state == CH_DATA_LF)
		c->state = CH_SIZE;
	else
		c->state = c->line == 2 ? CH_END : CH_TRAILER;
	c->line = 0;
	return 0;
}

int http_chunks_read(struct http_chunks *c, const char *p, size_t n,
		     struct buf *body, size_t *used, struct err *e)
{
	size_t i = 0;

	while (i < n && c->state != CH_END) {
		if (c->state != CH_DATA) {
			if (chunk_char(c, p[i++], e))
				return -1;
			continue;
		}
		size_t part = n - i < c->left ? n - i : (size_t)c->left;

		if (buf_add(body, p + i, part))
			return buf_ok(body, "the request's body", e);
		i += part;
		c->left -= part;
		if (!c->left)
			c->state = CH_DATA_CR;
	}
	*used = i;
	return c->state == CH_END;
}
