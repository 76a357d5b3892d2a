#include "lib/base/text.h"

#include "lib/base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

size_t text_utf8_char(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = p[0] < 0x80   ? 1
		     : p[0] < 0xc2 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5 ? 4
				   : 0;
	uint32_t c;

	if (len <= 1)
		return len;
	if (len > n)
		return 0;
	c = p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

bool text_is_utf8(const char *p, size_t n)
{
	while (n > 0) {
		size_t len = text_utf8_char(p, n);

		if (len == 0)
			return false;
		p += len;
		n -= len;
	}
	return true;
}

void text_end_whole(char *s)
{
	size_t n = strlen(s), tail = 0;

	while (tail < n && tail < 4 &&
	       ((unsigned char)s[n - 1 - tail] & 0xc0) == 0x80)
		tail++;
	if (tail < n && tail < 4 && (unsigned char)s[n - 1 - tail] >= 0xc0 &&
	    text_utf8_char(s + n - 1 - tail, tail + 1) == 0)
		s[n - 1 - tail] = '\0';
}

void text_mark_cut(char *s, size_t size)
{
	static const char mark[] = "…";

	s[size - sizeof mark] = '\0';
	text_end_whole(s);
	memcpy(s + strlen(s), mark, sizeof mark);
}

void text_fit(char *out, size_t size, const char *s)
{
	size_t n = strnlen(s, size);

	memcpy(out, s, n < size ? n + 1 : size);
	if (n == size)
		text_mark_cut(out, size);
}

void text_printf(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out, size, fmt, ap);
	va_end(ap);
	if (n >= (int)size)
		text_mark_cut(out, size);
}

void text_clean(char *s)
{
	size_t n = strlen(s);

	while (n > 0) {
		size_t len = text_utf8_char(s, n);
		unsigned char c = (unsigned char)*s, d = (unsigned char)s[1];

		if (len == 0) {
			*s = '?';
			len = 1;
		} else if (c < ' ' || c == 0x7f || (c == 0xc2 && d < 0xa0)) {
			memset(s, ' ', len); /* C1 characters have two bytes */
		}
		s += len;
		n -= len;
	}
}

struct quoted quotedn(const char *p, size_t n)
{
	struct quoted q;
	size_t at = 0;

	while (n > 0 && at + 12 < sizeof q.text) {
		size_t len = text_utf8_char(p, n);
		unsigned char c = (unsigned char)*p;

		if (len == 0 || c < ' ' || c == 0x7f) {
			at += (size_t)snprintf(q.text + at, 5, "\\x%02x", c);
			len = 1;
		} else {
			memcpy(q.text + at, p, len);
			at += len;
		}
		p += len;
		n -= len;
	}
	snprintf(q.text + at, sizeof q.text - at, "%s", n > 0 ? "…" : "");
	return q;
}

struct quoted quoted(const char *s)
{
	return quotedn(s, strlen(s));
}

int text_check_name(const char *what, const char *name, struct err *e)
{
	static const char more[] = "._-";
	size_t n = strlen(name);

	if (n == 0)
		return err_set(e, ERR_USAGE, "%s is empty", what);
	if (n > NAME_MAX_BYTES)
		return err_set(e, ERR_USAGE,
			       "%s '%s' has %zu bytes; at most %d are allowed",
			       what, quoted(name).text, n, NAME_MAX_BYTES);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)name[i];
		bool alnum = c < 0x80 && isalnum(c);

		if (!alnum && (i == 0 || !strchr(more, c)))
			return err_set(e, ERR_USAGE,
				       "%s '%s' is not a name: use letters, "
				       "digits, '.', '_' and '-', starting "
				       "with a letter or digit",
				       what, quoted(name).text);
	}
	return 0;
}

int text_check_key(const char *what, const char *key, size_t max, struct err *e)
{
	size_t n = strlen(key);

	if (n == 0)
		return err_set(e, ERR_USAGE, "%s is empty", what);
	if (n > max)
		return err_set(e, ERR_USAGE,
			       "%s '%s' has %zu bytes; at most %zu are allowed",
			       what, quoted(key).text, n, max);
	if (!text_is_utf8(key, n))
		return err_set(e, ERR_USAGE, "%s '%s' is not valid UTF-8", what,
			       quoted(key).text);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)key[i] < ' ' || key[i] == 0x7f)
			return err_set(e, ERR_USAGE,
				       "%s '%s' contains a control character",
				       what, quoted(key).text);
	return 0;
}

const char *text_plural(int64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* The word of the list that is nearest to the given one. */
static bool near_word(const char *list, const char *word, char *out, size_t cap)
{
	char words[512], *rest = NULL, *w;
	struct suggestion near;
	const char *best;

	text_fit(words, sizeof words, list);
	suggest_begin(&near, word);
	for (w = strtok_r(words, "|", &rest); w; w = strtok_r(NULL, "|", &rest))
		suggest_candidate(&near, w);
	best = suggest_end(&near);
	if (best)
		text_fit(out, cap, best);
	return best != NULL;
}

int text_check_word(const char *what, const char *list, const char *word,
		    struct err *e)
{
	size_t n = strlen(word);
	char meant[64];
	bool near;

	for (const char *at = list; n > 0 && at; at = strchr(at, '|')) {
		at += *at == '|';
		if (!strncmp(at, word, n) && (at[n] == '|' || !at[n]))
			return 0;
	}
	near = near_word(list, word, meant, sizeof meant);
	return err_set(e, ERR_USAGE, "%s: '%s' is not one of %s%s%s%s", what,
		       quoted(word).text, list, near ? "; did you mean " : "",
		       near ? meant : "", near ? "?" : "");
}

int text_i64(const char *what, const char *s, int64_t min, int64_t max,
	     int64_t *out, struct err *e)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || *end || isspace((unsigned char)*s))
		return err_set(e, ERR_USAGE, "%s: '%s' is not a whole number",
			       what, quoted(s).text);
	if (max == INT64_MAX && v < min)
		return err_set(e, ERR_USAGE,
			       "%s: %s is too small; the minimum is %" PRId64,
			       what, quoted(s).text, min);
	if (errno || v < min || v > max)
		return err_set(e, ERR_USAGE,
			       "%s: %s is not between %" PRId64 " and %" PRId64,
			       what, quoted(s).text, min, max);
	*out = v;
	return 0;
}

int text_address(const char *s, char host[TEXT_HOST], char port[TEXT_PORT],
		 struct err *e)
{
	const char *colon = strrchr(s, ':'), *name = s;
	size_t n = colon ? (size_t)(colon - s) : 0;
	struct err ignored;
	int64_t number;

	if (n == 0 || n >= TEXT_HOST ||
	    text_i64("port", colon + 1, 0, 65535, &number, &ignored))
		return err_set(e, ERR_USAGE,
			       "'%s' is not HOST:PORT, such as 127.0.0.1:7411",
			       quoted(s).text);
	if (s[0] == '[' && s[n - 1] == ']') {
		name++;
		n -= 2;
	}
	text_printf(host, TEXT_HOST, "%.*s", (int)n, name);
	text_printf(port, TEXT_PORT, "%d", (int)number);
	return 0;
}

struct unit {
	const char *name;
	int64_t factor;
};

static int text_units(const char *what, const char *s, const char *kind,
		      const struct unit *units, int64_t *out, struct err *e)
{
	bool decimal = (isdigit((unsigned char)*s) || *s == '.') &&
		       !strpbrk(s, "xX"); /* no signs, inf, nan, 0x10 */
	char *end;
	double v;

	errno = 0;
	v = strtod(s, &end);
	for (; decimal && end > s && !errno && units->name; units++) {
		double scaled = v * (double)units->factor;

		if (strcasecmp(end, units->name) != 0)
			continue;
		if (scaled > 9e18)
			return err_set(e, ERR_USAGE, "%s: '%s' is too large",
				       what, quoted(s).text);
		*out = (int64_t)scaled;
		return 0;
	}
	return err_set(e, ERR_USAGE, "%s: '%s' is not %s", what, quoted(s).text,
		       kind);
}

int text_bytes(const char *what, const char *s, int64_t *out, struct err *e)
{
	static const struct unit units[] = {{"", 1},
					    {"b", 1},
					    {"k", 1 << 10},
					    {"kb", 1000},
					    {"kib", 1 << 10},
					    {"m", 1 << 20},
					    {"mb", 1000000},
					    {"mib", 1 << 20},
					    {"g", 1 << 30},
					    {"gb", 1000000000},
					    {"gib", 1 << 30},
					    {"t", INT64_C(1) << 40},
					    {"tb", INT64_C(1000000000000)},
					    {"tib", INT64_C(1) << 40},
					    {NULL, 0}};

	return text_units(what, s,
			  "a size; write a number with a unit (k, m, g or t), "
			  "such as 64k",
			  units, out, e);
}

int text_millis(const char *what, const char *s, int64_t *out, struct err *e)
{
	static const struct unit units[] = {
		{"ms", 1},       {"s", 1000},      {"", 1000},
		{"m", 60000},    {"min", 60000},   {"h", 3600000},
		{"d", 86400000}, {"w", 604800000}, {NULL, 0}};

	return text_units(what, s,
			  "a time; write a number with a unit (ms, s, m, h or "
			  "d), such as 30s",
			  units, out, e);
}

const char *text_human_bytes(int64_t n, char *out)
{
	static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)n;
	size_t i = 0;

	while (v >= 999.5 && i + 1 < sizeof names / sizeof names[0]) {
		v /= 1000;
		i++;
	}
	snprintf(out, TEXT_HUMAN, v < 9.95 && i > 0 ? "%.1f %s" : "%.0f %s", v,
		 names[i]);
	return out;
}

const char *text_human_millis(int64_t ms, char *out)
{
	int64_t s = ms / 1000;

	if (ms < 10000)
		snprintf(out, TEXT_HUMAN, "%.1fs", (double)ms / 1000);
	else if (s < 60)
		snprintf(out, TEXT_HUMAN, "%" PRId64 "s", s);
	else if (s < 3600)
		snprintf(out, TEXT_HUMAN, "%" PRId64 "m%02" PRId64 "s", s / 60,
			 s % 60);
	else if (s < 86400)
		snprintf(out, TEXT_HUMAN, "%" PRId64 "h%02" PRId64 "m",
			 s / 3600, s / 60 % 60);
	else
		snprintf(out, TEXT_HUMAN, "%" PRId64 "d%02" PRId64 "h",
			 s / 86400, s / 3600 % 24);
	return out;
}

const char *text_duration(int64_t ms, char *out)
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = {{86400000, "d"},
		     {3600000, "h"},
		     {60000, "m"},
		     {1000, "s"},
		     {1, "ms"}};
	size_t i = 0;

	while (ms % units[i].ms)
		i++;
	text_printf(out, TEXT_HUMAN, "%" PRId64 "%s", ms ? ms / units[i].ms : 0,
		    ms ? units[i].name : "s");
	return out;
}

const char *text_last_lines(const char *p, size_t n, int64_t lines)
{
	const char *at = p + n;

	if (lines <= 0)
		return at;
	if (n > 0 && at[-1] == '\n')
		at--;
	while (at > p && (at[-1] != '\n' || --lines > 0))
		at--;
	return at;
}
