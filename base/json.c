#include "base/json.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
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

static cJSON *refuse(const char *what, const char *text, const char *at,
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

/* A number as RFC 8259 has it: its length, or 0. */
static size_t number_length(const char *p, const char *end)
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

/*
 * What cJSON lets through and others, SQLite among them, do not: bytes that are
 * not UTF-8, raw control characters, numbers like 01 or 1. The first
 * such byte, or NULL. Also \u0000, which is right, but would end a text in C: what
 * follows it would be lost without a word.
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
			len = number_length(text, end);
		else if (in_string && end - text >= 6 &&
			 !memcmp(text, "\\u0000", 6))
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

cJSON *json_parse(const char *what, const char *text, size_t n, struct err *e)
{
	const char *end = NULL, *bad = bad_byte(text, n);
	cJSON *v;

	if (bad)
		return refuse(what, text, bad,
			      !*bad ? "a NUL byte"
			      : (unsigned char)*bad < ' '
				      ? "a control character"
			      : *bad == '\\' ? "a NUL character (\\u0000)"
			      : (unsigned char)*bad < 0x80 ? "not a number"
							   : "not valid UTF-8",
			      e);
	v = cJSON_ParseWithLengthOpts(text, n, &end, false);
	if (!v)
		return refuse(what, text, end ? end : text,
			      n == 0 ? "empty, expected JSON"
				     : "this is not valid JSON",
			      e);
	while (end < text + n && strchr(" \t\r\n", *end))
		end++;
	if (end < text + n) {
		cJSON_Delete(v);
		return refuse(what, text, end, "text after the end of the JSON",
			      e);
	}
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

void json_add(struct buf *b, const cJSON *v)
{
	char *text = cJSON_PrintUnformatted(v);

	if (!text)
		abort();
	buf_adds(b, text);
	free(text);
}

static void add_char(struct buf *b, const char **s, size_t *n)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	unsigned char c = (unsigned char)**s;
	const char *esc = c ? strchr(plain, c) : NULL;
	size_t len = 1;

	if (esc)
		buf_addf(b, "\\%c", letter[esc - plain]);
	else if (c > 0 && c < ' ')
		buf_addf(b, "\\u%04x", c);
	else if (c > 0 && c < 0x80)
		buf_addc(b, (char)c);
	else if (c > 0 && (len = text_utf8_char(*s, *n)) > 0)
		buf_add(b, *s, len);
	else {
		buf_adds(b, "\xef\xbf\xbd");
		len = 1;
	}
	*s += len;
	*n -= len;
}

void json_add_string(struct buf *b, const char *s, size_t n)
{
	buf_addc(b, '"');
	while (n > 0)
		add_char(b, &s, &n);
	buf_addc(b, '"');
}

static void add_text(struct buf *b, const char *s, bool is_json)
{
	if (!s)
		buf_adds(b, "null");
	else if (is_json)
		buf_adds(b, s);
	else
		json_add_string(b, s, strlen(s));
}

void json_add_field(struct buf *b, const struct field *f, const void *obj)
{
	const void *at = field_in(f, obj);

	switch (f->type) {
	case FIELD_i64:
		buf_addf(b, "%" PRId64, *(const field_i64 *)at);
		break;
	case FIELD_opt:
	case FIELD_time:
		if (*(const field_opt *)at == OPT_NONE)
			buf_adds(b, "null");
		else
			buf_addf(b, "%" PRId64, *(const field_opt *)at);
		break;
	case FIELD_bool:
		buf_adds(b, *(const field_bool *)at ? "true" : "false");
		break;
	case FIELD_f64:
		if (isfinite(*(const field_f64 *)at))
			buf_addf(b, "%.17g", *(const field_f64 *)at);
		else
			buf_adds(b, "null");
		break;
	case FIELD_text:
	case FIELD_json:
		add_text(b, *(const field_text *)at, f->type == FIELD_json);
		break;
	case FIELD_blob:
		buf_addf(b, "%zu", ((const struct blob *)at)->n);
		break;
	}
}

void json_add_shape(struct buf *b, const struct shape *s, const void *obj)
{
	buf_addc(b, '{');
	for (size_t i = 0; i < s->nfields; i++) {
		const struct field *f = &s->fields[i];

		if (i > 0)
			buf_addc(b, ',');
		json_add_string(b, f->name, strlen(f->name));
		buf_addc(b, ':');
		json_add_field(b, f, obj);
	}
	buf_addc(b, '}');
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
	return (int64_t)v->valuedouble;
}

bool json_bool(const cJSON *obj, const char *name, bool other)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, name);

	return cJSON_IsBool(v) ? cJSON_IsTrue(v) != 0 : other;
}
