#include "base/json.h"

#include "base/text.h"

#include <string.h>

#define ESCAPE    6 /* bytes of \uXXXX */
#define UTF8_FFFD "\xef\xbf\xbd"
#define JSON_FFFD "\\ufffd"

/* The code unit of an escape \uXXXX at p, or -1. */
static int unit_at(const char *p, const char *end)
{
	int unit = 0;

	if (end - p < ESCAPE || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < ESCAPE; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *d = strchr(digits, p[i] | 0x20);

		if (!p[i] || !d)
			return -1;
		unit = unit << 4 | (int)(d - digits);
	}
	return unit;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* An escape sequence of a string: how many bytes it has. */
static size_t add_escape(const char *p, const char *end, struct buf *out,
			 size_t *replaced)
{
	int unit = unit_at(p, end);
	size_t n = unit >= 0 ? ESCAPE : end - p < 2 ? 1 : 2;

	if (is_high(unit) && is_low(unit_at(p + ESCAPE, end)))
		n = (size_t)2 * ESCAPE;
	else if (unit == 0 || is_high(unit) || is_low(unit)) {
		(*replaced)++;
		buf_adds(out, JSON_FFFD);
		return n;
	}
	buf_add(out, p, n);
	return n;
}

/* One character of a string, not an escape: how many bytes it has. */
static size_t add_char(const char *p, const char *end, struct buf *out,
		       size_t *replaced)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c ? text_utf8_char(p, (size_t)(end - p)) : 0;

	if (n > 0 && c >= ' ') {
		buf_add(out, p, n);
		return n;
	}
	(*replaced)++;
	if (n > 0)
		buf_addf(out, "\\u%04x", c);
	else
		buf_adds(out, UTF8_FFFD);
	return 1;
}

size_t json_repair(const char *text, size_t n, struct buf *out)
{
	const char *p = text, *end = text + n;
	size_t replaced = 0;
	bool in_string = false;

	while (p < end) {
		if (*p == '"')
			in_string = !in_string;
		if (in_string && *p == '\\')
			p += add_escape(p, end, out, &replaced);
		else if (in_string)
			p += add_char(p, end, out, &replaced);
		else
			buf_addc(out, *p++);
	}
	return replaced;
}
