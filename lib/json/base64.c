#include "lib/json/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *b, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i += 3) {
		size_t have = n - i < 3 ? n - i : 3;
		uint32_t v = (uint32_t)s[i] << 16;
		char out[4];

		if (have > 1)
			v |= (uint32_t)s[i + 1] << 8;
		if (have > 2)
			v |= s[i + 2];
		out[0] = digits[v >> 18];
		out[1] = digits[v >> 12 & 63];
		out[2] = '=';
		out[3] = '=';
		if (have > 1)
			out[2] = digits[v >> 6 & 63];
		if (have > 2)
			out[3] = digits[v & 63];
		buf_add(b, out, sizeof out);
	}
}

static int value_of(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int wrong(struct err *e)
{
	return err_set(e, ERR_INVALID, "invalid base64");
}

int base64_decode(struct buf *b, const char *text, size_t n, struct err *e)
{
	uint32_t v = 0;
	int have = 0, pads = 0;

	for (size_t i = 0; i < n; i++) {
		int d = value_of(text[i]);

		if (is_space(text[i]))
			continue;
		if (text[i] == '=')
			pads++;
		if ((d < 0 && text[i] != '=') || (d >= 0 && pads) || pads > 2)
			return wrong(e);
		v = v << 6 | (uint32_t)(d < 0 ? 0 : d);
		if (++have < 4)
			continue;
		buf_addc(b, (char)(v >> 16));
		if (pads < 2)
			buf_addc(b, (char)(v >> 8));
		if (pads < 1)
			buf_addc(b, (char)v);
		have = 0;
		v = 0;
		if (pads && i + 1 < n)
			pads = 3; /* nothing may follow */
	}
	if (have)
		return wrong(e);
	return buf_ok(b, "base 64", e);
}
