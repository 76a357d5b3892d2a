/* Validation without building a tree. */
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/json/json_scan.h"

#include <ctype.h>
#include <string.h>

static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

size_t json_number_length(const char *p, const char *end)
{
	const char *at = p + (*p == '-'), *run = skip_digits(at, end);

	if (run == at || (run > at + 1 && *at == '0'))
		return 0;
	if (run < end && *run == '.') {
		at = run + 1;
		run = skip_digits(at, end);
		if (run == at)
			return 0;
	}
	if (run < end && (*run == 'e' || *run == 'E')) {
		at = run + 1;
		at += at < end && (*at == '+' || *at == '-');
		run = skip_digits(at, end);
		if (run == at)
			return 0;
	}
	return (size_t)(run - p);
}

int json_unit_at(const char *p, const char *end)
{
	int unit = 0;

	if (end - p < JSON_ESCAPE || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < JSON_ESCAPE; i++) {
		int digit = (unsigned char)p[i];

		if (!isxdigit(digit))
			return -1;
		unit = unit << 4 |
		       (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
	}
	return unit;
}

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* The length of the escape sequence at p, or 0. */
static size_t escape_length(const char *p, const char *end)
{
	int unit;

	if (end - p < 2 || !p[1])
		return 0;
	if (p[1] != 'u')
		return strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
	unit = json_unit_at(p, end);
	if (json_is_high(unit))
		return json_is_low(json_unit_at(p + JSON_ESCAPE, end))
			       ? (size_t)2 * JSON_ESCAPE
			       : 0;
	return unit <= 0 || json_is_low(unit) ? 0 : JSON_ESCAPE;
}

/* The length of the string at p with its quotes, or 0. */
static size_t string_length(const char *p, const char *end)
{
	const char *at = p + 1;

	while (at < end && *at != '"') {
		unsigned char c = (unsigned char)*at;
		size_t n = 1;

		if (c < ' ')
			return 0;
		if (c == '\\')
			n = escape_length(at, end);
		else if (c >= 0x80)
			n = text_utf8_char(at, (size_t)(end - at));
		if (n == 0)
			return 0;
		at += n;
	}
	return at < end ? (size_t)(at + 1 - p) : 0;
}

static size_t word_length(const char *p, const char *end)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - p) >= n && !memcmp(p, words[i], n))
			return n;
	}
	return 0;
}

/* A string, a number or a literal: the end of it, or NULL. */
static const char *skip_scalar(const char *p, const char *end)
{
	size_t n;

	if (p == end)
		return NULL;
	if (*p == '"')
		n = string_length(p, end);
	else if (*p == '-' || (*p >= '0' && *p <= '9'))
		n = json_number_length(p, end);
	else
		n = word_length(p, end);
	return n ? p + n : NULL;
}

/* The name of a member and its colon, in an object. */
static const char *skip_name(const char *p, const char *end, char closes)
{
	p = skip_space(p, end);
	if (closes != '}')
		return p;
	p = p < end && *p == '"' ? skip_scalar(p, end) : NULL;
	p = p ? skip_space(p, end) : NULL;
	return p && p < end && *p == ':' ? skip_space(p + 1, end) : NULL;
}

struct nest {
	char closes[CJSON_NESTING_LIMIT]; /* '}' or ']', outermost first */
	int depth;
};

/* After a value: the ends of the containers it is in, and a comma. NULL: an
 * error; *done: nothing is open. */
static const char *skip_ends(struct nest *s, const char *p, const char *end,
			     bool *done)
{
	for (;;) {
		char closes = s->depth ? s->closes[s->depth - 1] : 0;

		p = skip_space(p, end);
		*done = !closes;
		if (*done)
			return p;
		if (p == end)
			return NULL;
		if (*p == ',')
			return skip_name(p + 1, end, closes);
		if (*p++ != closes)
			return NULL;
		s->depth--;
	}
}

/* The bracket at p. *inside: a value follows; otherwise the container is empty,
 * and the result is its end. NULL: an error. */
static const char *step_in(struct nest *s, const char *p, const char *end,
			   bool *inside)
{
	char closes = *p == '[' ? ']' : '}';

	if (s->depth == CJSON_NESTING_LIMIT)
		return NULL;
	s->closes[s->depth++] = closes;
	p = skip_space(p + 1, end);
	*inside = p == end || *p != closes;
	return *inside ? skip_name(p, end, closes) : p;
}

bool json_ok(const char *text, size_t n)
{
	const char *end = text + n, *p = skip_space(text, end);
	struct nest s;
	bool done = false;

	s.depth = 0;
	while (p && !done) {
		bool inside = false;

		p = p < end && (*p == '[' || *p == '{')
			    ? step_in(&s, p, end, &inside)
			    : skip_scalar(p, end);
		if (p && !inside)
			p = skip_ends(&s, p, end, &done);
	}
	return p == end;
}
