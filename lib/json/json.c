#include "lib/json/json.h"

#include "lib/base/text.h"
#include "lib/json/json_scan.h"

#include <stdlib.h>
#include <string.h>

/* Columns count characters, as an editor does. */
static void locate(const char *text, const char *at, int *line, int *column)
{
	*line = 1;
	*column = 1;
	for (; text < at; text++) {
		*column += ((unsigned char)*text & 0xc0) != 0x80;
		if (*text == '\n') {
			(*line)++;
			*column = 1;
		}
	}
}

static cJSON *refuse_text(const char *what, const char *text, const char *at,
			  const char *why, struct err *e)
{
	int line, column;

	locate(text, at, &line, &column);
	err_set(e, ERR_INVALID, "%s: line %d, column %d: %s", what, line,
		column, why);
	return NULL;
}

static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/*
 * Input that cJSON accepts and others, SQLite among them, do not: invalid
 * UTF-8, raw control characters, numbers like 01 or 1., \u without four digits.
 * Also \u0000, which is valid but would end a C string, so that the rest is
 * lost. Returns the first such byte, or NULL.
 */
static const char *bad_byte(const char *text, size_t n)
{
	const char *end = text + n;
	bool in_string = false;

	while (text < end) {
		unsigned char c = (unsigned char)*text;
		size_t len = c ? text_utf8_char(text, (size_t)(end - text)) : 0;

		if (c < ' ' && (in_string || !strchr("\t\n\r", c)))
			len = 0;
		else if (!in_string && (c == '-' || (c >= '0' && c <= '9')))
			len = json_number_length(text, end);
		else if (in_string && c == '\\' && end - text > 1 &&
			 text[1] == 'u' && json_unit_at(text, end) <= 0)
			len = 0;
		else if (in_string && c == '\\' && end - text > 1 && text[1])
			len = 1 + text_utf8_char(text + 1,
						 (size_t)(end - text) - 1);
		else if (c == '"')
			in_string = !in_string;
		if (len == 0)
			return text;
		text += len;
	}
	return NULL;
}

/* --- numbers ----------------------------------------------------------- */

/* The next number of a parsed text: its start, or end. */
static const char *find_number(const char *p, const char *end)
{
	bool in_string = false;

	for (; p < end; p++) {
		if (in_string && *p == '\\')
			p++;
		else if (*p == '"')
			in_string = !in_string;
		else if (!in_string && (*p == '-' || (*p >= '0' && *p <= '9')))
			break;
	}
	return p < end ? p : end;
}

/* Short integers, which survive the conversion to a double and back. */
static bool is_simple(const char *p, size_t n)
{
	size_t digits = *p == '-' ? n - 1 : n;

	return digits < 16 && skip_digits(p + (n - digits), p + n) == p + n &&
	       !(*p == '-' && p[1] == '0');
}

/* Consumes the number at *p, which belongs to v. */
static void keep_number(cJSON *v, const char **p, const char *end)
{
	const char *at = find_number(*p, end);
	size_t n = json_number_length(at, end);

	*p = at + n;
	if (is_simple(at, n))
		return;
	v->valuestring = strndup(at, n);
	if (!v->valuestring)
		abort();
}

/*
 * cJSON stores numbers as doubles only, so an integer above 2^53 would change.
 * A number that does not survive the conversion keeps its text in valuestring,
 * which cJSON copies and frees with the value. The numbers of the text and of
 * the tree are in the same order.
 */
static void keep_numbers(cJSON *v, const char *p, const char *end)
{
	cJSON *up[CJSON_NESTING_LIMIT];
	int depth = 0;

	for (;;) {
		if (cJSON_IsNumber(v))
			keep_number(v, &p, end);
		if (v->child && depth < CJSON_NESTING_LIMIT) {
			up[depth++] = v;
			v = v->child;
			continue;
		}
		while (depth > 0 && !v->next)
			v = up[--depth];
		if (depth == 0)
			return;
		v = v->next;
	}
}

/* Describes the byte that bad_byte found. */
static const char *name_bad(const char *bad, const char *end)
{
	if (!*bad)
		return "a NUL byte";
	if ((unsigned char)*bad < ' ')
		return "a control character";
	if (*bad == '\\' && json_unit_at(bad, end) < 0)
		return "\\u needs four hexadecimal digits";
	if (*bad == '\\')
		return "a NUL character (\\u0000)";
	return (unsigned char)*bad < 0x80 ? "not a number" : "not valid UTF-8";
}

cJSON *json_parse(const char *what, const char *text, size_t n, struct err *e)
{
	const char *end = NULL, *bad = bad_byte(text, n);
	cJSON *v;

	/* cJSON would skip it, SQLite would not */
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return refuse_text(what, text, text,
				   "a byte order mark is not allowed", e);

	if (bad)
		return refuse_text(what, text, bad, name_bad(bad, text + n), e);
	v = cJSON_ParseWithLengthOpts(text, n, &end, false);
	if (!v)
		return refuse_text(
			what, text, end ? end : text,
			n == 0 ? "empty, expected JSON" : "invalid JSON", e);
	while (end < text + n && strchr(" \t\r\n", *end))
		end++;
	if (end < text + n) {
		cJSON_Delete(v);
		return refuse_text(what, text, end,
				   "text after the end of the JSON", e);
	}
	keep_numbers(v, text, end);
	return v;
}

cJSON *json_parse_object(const char *what, const char *text, size_t n,
			 struct err *e)
{
	cJSON *v = json_parse(what, text, n, e);

	if (v && !cJSON_IsObject(v)) {
		cJSON_Delete(v);
		err_set(e, ERR_INVALID, "%s: expected a JSON object", what);
		return NULL;
	}
	return v;
}

const cJSON *json_member(const cJSON *obj, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(obj, name);
}

const char *json_text(const cJSON *obj, const char *name, const char *other)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, name);

	return cJSON_IsString(v) ? v->valuestring : other;
}

int64_t json_i64(const cJSON *obj, const char *name, int64_t other)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (!cJSON_IsNumber(v) || !(v->valuedouble > -9.2e18) ||
	    !(v->valuedouble < 9.2e18))
		return other;
	if (v->valuestring && !strpbrk(v->valuestring, ".eE"))
		return strtoll(v->valuestring, NULL, 10);
	return (int64_t)v->valuedouble;
}

bool json_bool(const cJSON *obj, const char *name, bool other)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, name);

	return cJSON_IsBool(v) ? cJSON_IsTrue(v) != 0 : other;
}
