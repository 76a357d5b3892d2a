/* Amounts are whole, in range and never negative; names are one path component;
 * keys are printable UTF-8; a picture of any bytes is short printable UTF-8. */
#include "lib/base/id.h"
#include "lib/base/text.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static void check_amounts(const char *s)
{
	int64_t v = -1;
	struct err e;

	if (!text_bytes("size", s, &v, &e))
		assert(v >= 0 && s[0] >= '.' && s[0] <= '9');
	v = -1;
	if (!text_millis("time", s, &v, &e))
		assert(v >= 0 && s[0] >= '.' && s[0] <= '9');
	if (!text_i64("number", s, -5, 1000, &v, &e))
		assert(v >= -5 && v <= 1000);
}

static void check_names(const char *s)
{
	struct err e;

	if (!text_check_name("name", s, &e))
		assert(*s && strlen(s) <= 64 && !strchr(s, '/') && *s != '.' &&
		       *s != '-');
	if (!text_check_key("key", s, 300, &e))
		assert(*s && strlen(s) <= 300 && !strpbrk(s, "\n\r\t\x7f") &&
		       text_is_utf8(s, strlen(s)));
	for (int kind = 0; kind < ID_KINDS; kind++)
		if (id_is((enum id_kind)kind, s))
			assert(id_time(s) >= 0 && strlen(s) == ID_SIZE - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct quoted q = quotedn((const char *)data, size);
	char s[512];
	size_t n = size < sizeof s - 1 ? size : sizeof s - 1;

	assert(text_is_utf8(q.text, strlen(q.text)));
	for (const char *p = q.text; *p; p++)
		assert((unsigned char)*p >= ' ' && *p != 0x7f);
	memcpy(s, data, n);
	s[n] = '\0';
	check_amounts(s);
	check_names(s);
	return 0;
}
