/* Any bytes are read as JSON5 or refused with a place. An object that is JSON
 * means the same as JSON5; and what was read, written as JSON, is read again. */
#include "ops/import/importers/json5.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same_json(const cJSON *a, const cJSON *b)
{
	struct buf x = BUF_MAX(64u << 20), y = BUF_MAX(64u << 20);

	json_add(&x, a);
	json_add(&y, b);
	assert(x.n == y.n && !memcmp(x.p, y.p, x.n));
	buf_fini(&x);
	buf_fini(&y);
}

/* cJSON takes \\u with fewer than four digits for something: that is no JSON. */
static bool has_short_escape(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		size_t digits = 0;

		if (p[i] != '\\')
			continue;
		i++;
		if (p[i] != 'u')
			continue;
		while (digits < 4 && i + 1 + digits < n &&
		       isxdigit(p[i + 1 + digits]))
			digits++;
		if (digits < 4)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct buf written = BUF_MAX(64u << 20);
	struct err e = {0}, plain_e = {0};
	cJSON *v = json5_parse_object("fuzz", text, size, &e);
	cJSON *plain = json_parse_object("fuzz", text, size, &plain_e);
	cJSON *again = NULL;

	if (plain && !has_short_escape(data, size)) {
		assert(v);
		assert_same_json(plain, v);
	}
	if (v) {
		json_add(&written, v);
		again = json5_parse_object("written", written.p, written.n, &e);
		assert(again);
		assert_same_json(v, again);
	} else {
		assert(e.code == ERR_INVALID && e.text[0] &&
		       !strchr(e.text, '\n'));
	}
	cJSON_Delete(v);
	cJSON_Delete(plain);
	cJSON_Delete(again);
	buf_fini(&written);
	return 0;
}
