#include "lib/http/input.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/id.h"
#include "lib/base/text.h"

/* Errors name the input as the client wrote it: "prompt" in a body, prompt in
 * an address. */
static int fail(const struct http_input *in, enum err_code code,
		const char *must, struct err *e)
{
	const char *mark = in->in == HTTP_IN_BODY ? "\"" : "";

	return err_set(e, code, "%s%s%s %s", mark, in->name, mark, must);
}

static enum err_code wrong(const struct http_input *in)
{
	return in->in == HTTP_IN_BODY ? ERR_INVALID : ERR_USAGE;
}

/* "a, b or c" */
static void add_words(struct buf *b, const char *words)
{
	for (;;) {
		size_t n = strcspn(words, "|");

		buf_add(b, words, n);
		if (!words[n])
			return;
		words += n + 1;
		buf_adds(b, strchr(words, '|') ? ", " : " or ");
	}
}

static bool has_word(const char *words, const char *value)
{
	size_t want = strlen(value);

	for (;;) {
		size_t n = strcspn(words, "|");

		if (n == want && memcmp(words, value, n) == 0)
			return true;
		if (!words[n])
			return false;
		words += n + 1;
	}
}

static int check_word(const struct http_input *in, const char *value,
		      struct err *e)
{
	struct buf b = BUF_MAX(400);

	if (has_word(in->type->words, value))
		return 0;
	buf_adds(&b, in->type->kind == HTTP_KIND_ARRAY ? "must be a list of "
						       : "must be ");
	add_words(&b, in->type->words);
	buf_addf(&b, ", not %s", quoted(value).text);
	fail(in, wrong(in), b.p, e);
	buf_fini(&b);
	return -1;
}

static int check_size(const struct http_input *in, int64_t n, const char *unit,
		      struct err *e)
{
	char must[96];

	if (n > in->type->max) {
		snprintf(must, sizeof must,
			 "must not exceed %" PRId64 " %s, and has %" PRId64,
			 in->type->max, unit, n);
		return fail(in, in->type->form ? wrong(in) : ERR_TOOBIG, must,
			    e);
	}
	if (n < in->type->min)
		return fail(in, wrong(in), "must not be empty", e);
	return 0;
}

static int check_id(const struct http_input *in, const char *value,
		    struct err *e)
{
	const char *prefix = in->type->words;
	char must[128];

	if (id_time(value) >= 0 && !strncmp(value, prefix, strlen(prefix)))
		return 0;
	snprintf(must, sizeof must,
		 "must be an id of the form %.8s_…, not %.60s", prefix,
		 quoted(value).text);
	return fail(in, wrong(in), must, e);
}

static int check_form(const struct http_input *in, const char *value,
		      struct err *e)
{
	size_t max = (size_t)in->type->max;

	if (in->type->form == HTTP_FORM_NAME)
		return text_check_name(in->name, value, e);
	if (in->type->form == HTTP_FORM_ID)
		return check_id(in, value, e);
	if (in->type->form == HTTP_FORM_KEY && value[0])
		return text_check_key(in->name, value, max, e);
	return 0;
}

static int check_text(const struct http_input *in, const char *value,
		      struct err *e)
{
	if (in->type->kind == HTTP_KIND_WORD)
		return check_word(in, value, e);
	if (check_size(in, (int64_t)strlen(value), "bytes", e))
		return -1;
	return check_form(in, value, e);
}

static int check_range(const struct http_input *in, int64_t n, struct err *e)
{
	char must[96];

	if (n >= in->type->min && n <= in->type->max)
		return 0;
	snprintf(must, sizeof must,
		 "must be between %" PRId64 " and %" PRId64 ", and is %" PRId64,
		 in->type->min, in->type->max, n);
	return fail(in, wrong(in), must, e);
}

bool http_input_true(const char *value)
{
	return value && has_word("|1|true", value);
}

int http_input_text(const struct http_input *in, const char *value,
		    struct err *e)
{
	int64_t n;

	switch (in->type->kind) {
	case HTTP_KIND_INTEGER:
		return text_i64(in->name, value, in->type->min, in->type->max,
				&n, e);
	case HTTP_KIND_BOOLEAN:
		if (!has_word("|0|1|true|false", value))
			return fail(in, ERR_USAGE, "must be true or false", e);
		return 0;
	case HTTP_KIND_TEXT:
	case HTTP_KIND_WORD:
		return check_text(in, value, e);
	case HTTP_KIND_OBJECT:
	case HTTP_KIND_ARRAY:
	case HTTP_KIND_LIST:
	case HTTP_KIND_FILES:
	case HTTP_KIND_ANY:
		break;
	}
	assert(false &&
	       "a parameter of an address is a text, a number or a boolean");
	return -1;
}

static int check_number(const struct http_input *in, const cJSON *v,
			struct err *e)
{
	if (!cJSON_IsNumber(v) || v->valuedouble != floor(v->valuedouble) ||
	    !(fabs(v->valuedouble) < 9.2e18))
		return fail(in, ERR_INVALID, "must be a whole number", e);
	if (v->valuestring && strpbrk(v->valuestring, ".eE") &&
	    fabs(v->valuedouble) > 9007199254740991.0)
		return fail(in, ERR_INVALID, "must be a whole number", e);
	return check_range(in,
			   v->valuestring && !strpbrk(v->valuestring, ".eE")
				   ? strtoll(v->valuestring, NULL, 10)
				   : (int64_t)v->valuedouble,
			   e);
}

static int check_array(const struct http_input *in, const cJSON *v,
		       struct err *e)
{
	const cJSON *item;
	int64_t n = 0;

	if (!cJSON_IsArray(v))
		return fail(in, ERR_INVALID, "must be an array", e);
	cJSON_ArrayForEach(item, v)
	{
		n++;
		if (in->type->kind == HTTP_KIND_LIST)
			continue;
		if (!cJSON_IsString(item))
			return fail(in, ERR_INVALID,
				    "must be an array of strings", e);
		if (in->type->words && check_word(in, item->valuestring, e))
			return -1;
	}
	return check_size(in, n, "items", e);
}

/* Names and types, which the handler does not check; it checks the sizes. */
static int check_files(const struct http_input *in, const cJSON *v,
		       struct err *e)
{
	static const char *const texts[] = {"name", "type", "base64", "media"};
	const cJSON *item, *text;

	if (!cJSON_IsArray(v))
		return fail(in, ERR_INVALID, "must be an array", e);
	cJSON_ArrayForEach(item, v)
	{
		if (!cJSON_IsObject(item))
			return fail(in, ERR_INVALID,
				    "must be an array of objects", e);
		for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
			text = cJSON_GetObjectItemCaseSensitive(item, texts[i]);
			if (text && !cJSON_IsString(text))
				return fail(in, ERR_INVALID,
					    "must have strings as name, type, "
					    "base64 and media",
					    e);
		}
	}
	return 0;
}

static int check_object(const struct http_input *in, const cJSON *v,
			struct err *e)
{
	struct buf b = BUF_MAX((size_t)in->type->max);
	bool over;

	if (!cJSON_IsObject(v))
		return fail(in, ERR_INVALID, "must be an object", e);
	json_add(&b, v);
	over = b.over;
	buf_fini(&b);
	return over ? check_size(in, in->type->max + 1, "bytes", e) : 0;
}

static int check_value(const struct http_input *in, const cJSON *v,
		       struct err *e)
{
	switch (in->type->kind) {
	case HTTP_KIND_TEXT:
	case HTTP_KIND_WORD:
		if (!cJSON_IsString(v))
			return fail(in, ERR_INVALID, "must be a string", e);
		return check_text(in, v->valuestring, e);
	case HTTP_KIND_INTEGER:
		return check_number(in, v, e);
	case HTTP_KIND_BOOLEAN:
		if (!cJSON_IsBool(v))
			return fail(in, ERR_INVALID, "must be true or false",
				    e);
		return 0;
	case HTTP_KIND_OBJECT:
		return check_object(in, v, e);
	case HTTP_KIND_ARRAY:
	case HTTP_KIND_LIST:
		return check_array(in, v, e);
	case HTTP_KIND_FILES:
		return check_files(in, v, e);
	case HTTP_KIND_ANY:
		break;
	}
	return 0;
}

int http_input_json(const struct http_input *in, const cJSON *value,
		    struct err *e)
{
	if ((!value || cJSON_IsNull(value)) && in->need == HTTP_REQUIRED)
		return fail(in, ERR_INVALID, "is required", e);
	if (!value || (cJSON_IsNull(value) && in->need == HTTP_OPTIONAL))
		return 0;
	return check_value(in, value, e);
}

bool http_input_is_bounded(const struct http_input *in)
{
	return strcmp(in->name, HTTP_OTHERS) != 0 &&
	       in->type->kind != HTTP_KIND_ANY &&
	       in->type->kind != HTTP_KIND_LIST;
}

/* An escaped character has up to six bytes for two of UTF-8. */
#define ESCAPED     3
#define ITEM_BYTES  1024
#define FILES_ABOUT 65536 /* names and types */

size_t http_input_bytes(const struct http_input *in)
{
	size_t max = (size_t)in->type->max, name = strlen(in->name) + 64;

	switch (in->type->kind) {
	case HTTP_KIND_TEXT:
	case HTTP_KIND_OBJECT:
		return name + ESCAPED * max;
	case HTTP_KIND_ARRAY:
		return name + ITEM_BYTES * max;
	case HTTP_KIND_FILES:
		return name + max / 3 * 4 + FILES_ABOUT;
	case HTTP_KIND_WORD:
	case HTTP_KIND_INTEGER:
	case HTTP_KIND_BOOLEAN:
	case HTTP_KIND_LIST:
	case HTTP_KIND_ANY:
		break;
	}
	return name;
}

/* --- the document -------------------------------------------------------- */

static void put_enum(struct buf *out, const char *words)
{
	json_put_array(out, "enum");
	for (;;) {
		size_t n = strcspn(words, "|");

		json_add_string(out, words, n);
		if (!words[n])
			break;
		words += n + 1;
	}
	json_end_array(out);
}

static void put_range(struct buf *out, const char *least, const char *most,
		      const struct http_type *t)
{
	json_put_int(out, least, t->min);
	json_put_int(out, most, t->max);
}

static void put_text_schema(struct buf *out, const struct http_type *t)
{
	char pattern[64];

	put_range(out, "minLength", "maxLength", t);
	if (t->form == HTTP_FORM_ID) {
		text_printf(pattern, sizeof pattern, "^%s_[0-9a-z]{26}$",
			    t->words);
		json_put_text(out, "pattern", pattern);
	}
	if (t->form == HTTP_FORM_NAME)
		json_put_text(out, "pattern",
			      "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$");
}

static const char file_schema[] =
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
	"\"string\"},\"type\":{\"type\":\"string\"},\"base64\":{\"type\":"
	"\"string\",\"contentEncoding\":\"base64\"},\"media\":{\"type\":"
	"\"string\"}}}";

static void put_items_schema(struct buf *out, const struct http_type *t)
{
	json_put_object(out, "items");
	json_put_text(out, "type", "string");
	if (t->words)
		put_enum(out, t->words);
	json_end_object(out);
}

static void put_default(struct buf *out, enum http_kind kind, const char *text)
{
	if (kind == HTTP_KIND_TEXT || kind == HTTP_KIND_WORD)
		json_put_text(out, "default", text);
	else
		json_put_raw(out, "default", text);
}

void http_input_schema(struct buf *out, const struct http_input *in,
		       const char *otherwise)
{
	static const char *const types[] = {
		[HTTP_KIND_TEXT] = "string",
		[HTTP_KIND_WORD] = "string",
		[HTTP_KIND_INTEGER] = "integer",
		[HTTP_KIND_BOOLEAN] = "boolean",
		[HTTP_KIND_OBJECT] = "object",
		[HTTP_KIND_ARRAY] = "array",
		[HTTP_KIND_LIST] = "array",
		[HTTP_KIND_FILES] = "array",
	};
	const struct http_type *t = in->type;

	json_begin_object(out);
	if (t->kind == HTTP_KIND_ANY) {
		json_end_object(out);
		return;
	}
	if (in->in == HTTP_IN_BODY && in->need == HTTP_OPTIONAL) {
		json_put_array(out, "type");
		json_add_text(out, types[t->kind]);
		json_add_text(out, "null");
		json_end_array(out);
	} else {
		json_put_text(out, "type", types[t->kind]);
	}
	if (t->kind == HTTP_KIND_TEXT)
		put_text_schema(out, t);
	else if (t->kind == HTTP_KIND_WORD)
		put_enum(out, t->words);
	else if (t->kind == HTTP_KIND_INTEGER)
		put_range(out, "minimum", "maximum", t);
	else if (t->kind == HTTP_KIND_ARRAY || t->kind == HTTP_KIND_LIST)
		put_range(out, "minItems", "maxItems", t);
	if (t->kind == HTTP_KIND_FILES)
		json_put_raw(out, "items", file_schema);
	if (t->kind == HTTP_KIND_ARRAY)
		put_items_schema(out, t);
	put_default(out, t->kind, otherwise);
	json_end_object(out);
}
