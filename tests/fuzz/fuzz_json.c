/* What json_parse takes can be written and read again, and is then the same;
 * what it refuses is refused with a place. A string that json_add_string makes
 * of any bytes is JSON, and is those bytes if they were UTF-8. */
#include "lib/base/text.h"
#include "lib/json/json.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static void check_value(const char *text, size_t n)
{
	struct buf once = BUF_MAX(64u << 20), again = BUF_MAX(64u << 20);
	struct err e = {0};
	cJSON *v = json_parse("fuzz", text, n, &e);

	/* cJSON rejects numbers of 64 characters and more */
	assert(json_ok(text, n) == (v != NULL) || (!v && n >= 64));
	if (!v) {
		assert(e.code == ERR_INVALID && strstr(e.text, "column"));
		return;
	}
	json_add(&once, v);
	cJSON_Delete(v);
	v = json_parse("written", once.p, once.n, &e);
	assert(v);
	json_add(&again, v);
	cJSON_Delete(v);
	assert(again.n == once.n && !memcmp(again.p, once.p, once.n));
	buf_fini(&once);
	buf_fini(&again);
}

static void check_string(const char *bytes, size_t n)
{
	struct buf b = BUF_MAX(64u << 20);
	struct err e = {0};
	cJSON *v;

	json_add_string(&b, bytes, n);
	v = json_parse("string", b.p, b.n, &e);
	assert(v && cJSON_IsString(v));
	if (text_is_utf8(bytes, n) && !memchr(bytes, 0, n))
		assert(strlen(v->valuestring) == n &&
		       !memcmp(v->valuestring, bytes, n));
	cJSON_Delete(v);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_value((const char *)data, size);
	check_string((const char *)data, size);
	return 0;
}
