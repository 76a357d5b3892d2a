#include "lib/json/json.h"

#include "lib/base/text.h"
#include "lib/json/json_scan.h"

#include <string.h>

#define UTF8_FFFD "\xef\xbf\xbd"
#define JSON_FFFD "\\ufffd"

/* The length of an escape sequence in a string. */
static size_t add_escape(const char *p, const char *end, struct buf *out,
			 size_t *replaced)
{
	int unit = json_unit_at(p, end);
	size_t n = unit >= 0 ? JSON_ESCAPE : end - p < 2 ? 1 : 2;

	if (json_is_high(unit) &&
	    json_is_low(json_unit_at(p + JSON_ESCAPE, end)))
		n = (size_t)2 * JSON_ESCAPE;
	else if (unit == 0 || json_is_high(unit) || json_is_low(unit)) {
		(*replaced)++;
		buf_adds(out, JSON_FFFD);
		return n;
	}
	buf_add(out, p, n);
	return n;
}

/* The length of one character of a string that is not an escape. */
static size_t add_char(const char *p, const char *end, struct buf *out,
		       size_t *replaced)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c ? text_utf8_char(p, (size_t)(end - p)) : 0;

	if (n > 0 && c >= ' ') {
		buf_add(out, p, n);
		return n;
	}
	if (n > 0) {
		buf_addf(out, "\\u%04x", c);
		return 1;
	}
	(*replaced)++;
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
