#include "lib/json/json_write.h"

#include "lib/base/text.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\n"

/* Whether a value ends with this byte. A text that begins or a container that
 * was begun ends with another one. */
static bool ends_value(char c)
{
	return c == '"' || c == '}' || c == ']' || (c >= '0' && c <= '9') ||
	       c == 'e' || c == 'l'; /* true, false, null */
}

static void add_comma(struct buf *b)
{
	if (b->n > 0 && ends_value(b->p[b->n - 1]))
		buf_addc(b, ',');
}

/* --- containers ---------------------------------------------------------- */

void json_begin_object(struct buf *b)
{
	add_comma(b);
	buf_addc(b, '{');
}

void json_end_object(struct buf *b)
{
	buf_addc(b, '}');
}

void json_begin_array(struct buf *b)
{
	add_comma(b);
	buf_addc(b, '[');
}

void json_end_array(struct buf *b)
{
	buf_addc(b, ']');
}

void json_key(struct buf *b, const char *name)
{
	json_add_string(b, name, strlen(name));
	buf_addc(b, ':');
}

/* --- values -------------------------------------------------------------- */

void json_add_int(struct buf *b, int64_t n)
{
	char digits[24], *end = digits + sizeof digits, *p = end;
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do {
		*--p = (char)('0' + rest % 10);
	} while (rest /= 10);
	if (n < 0)
		*--p = '-';
	add_comma(b);
	buf_add(b, p, (size_t)(end - p));
}

/* The shorter form that reads back as the same number. */
void json_add_real(struct buf *b, double n)
{
	char text[40];

	add_comma(b);
	if (!isfinite(n)) {
		buf_adds(b, "null");
		return;
	}
	snprintf(text, sizeof text, "%.15g", n);
	if (strtod(text, NULL) != n)
		snprintf(text, sizeof text, "%.17g", n);
	buf_adds(b, text);
}

void json_add_bool(struct buf *b, bool is_true)
{
	add_comma(b);
	buf_adds(b, is_true ? "true" : "false");
}

void json_add_null(struct buf *b)
{
	add_comma(b);
	buf_adds(b, "null");
}

void json_begin_string(struct buf *b)
{
	add_comma(b);
	buf_addc(b, '"');
}

void json_end_string(struct buf *b)
{
	buf_addc(b, '"');
}

/* Without the white space around it, which would hide the end of the value. */
static void add_trimmed(struct buf *b, const char *json, size_t n)
{
	size_t skip = strspn(json, SPACE);

	json += skip;
	n -= skip < n ? skip : n;
	while (n > 0 && strchr(SPACE, json[n - 1]))
		n--;
	if (n > 0)
		add_comma(b);
	buf_add(b, json, n);
}

void json_add_raw(struct buf *b, const char *json)
{
	add_trimmed(b, json, strlen(json));
}

static void add_leaf(struct buf *b, const cJSON *v)
{
	if (cJSON_IsString(v))
		json_add_string(b, v->valuestring, strlen(v->valuestring));
	else if (cJSON_IsNumber(v) && v->valuestring) /* as it was read */
		json_add_raw(b, v->valuestring);
	else if (cJSON_IsNumber(v))
		json_add_real(b, v->valuedouble);
	else if (cJSON_IsArray(v) || cJSON_IsObject(v))
		json_add_raw(b, cJSON_IsArray(v) ? "[]" : "{}");
	else if (cJSON_IsBool(v))
		json_add_bool(b, cJSON_IsTrue(v));
	else
		json_add_null(b);
}

/* Writes a value and the rest of its containers without recursion. */
void json_add(struct buf *b, const cJSON *v)
{
	const cJSON *up[CJSON_NESTING_LIMIT];
	int depth = 0;

	if (!v) {
		json_add_null(b);
		return;
	}
	for (;;) {
		if (depth > 0 && cJSON_IsObject(up[depth - 1]))
			json_key(b, v->string);
		if (v->child && depth < CJSON_NESTING_LIMIT) {
			cJSON_IsArray(v) ? json_begin_array(b)
					 : json_begin_object(b);
			up[depth++] = v;
			v = v->child;
			continue;
		}
		add_leaf(b, v);
		while (depth > 0 && !v->next) {
			v = up[--depth];
			buf_addc(b, cJSON_IsArray(v) ? ']' : '}');
		}
		if (depth == 0)
			return;
		v = v->next;
	}
}

/* The number of leading bytes that need no escape: nearly always all. */
static size_t plain_bytes(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' &&
	       (unsigned char)s[i] < 0x80)
		i++;
	return i;
}

/* One byte or character that may need an escape. */
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
	add_comma(b);
	buf_addc(b, '"');
	while (n > 0) {
		size_t plain = plain_bytes(s, n);

		buf_add(b, s, plain);
		s += plain;
		n -= plain;
		if (n > 0)
			add_char(b, &s, &n);
	}
	buf_addc(b, '"');
}

void json_add_text(struct buf *b, const char *text)
{
	if (text)
		json_add_string(b, text, strlen(text));
	else
		json_add_null(b);
}

/* The text is valid JSON: its line breaks are white space, since strings have
 * none. */
static void add_one_line(struct buf *b, const char *text)
{
	size_t at = b->n;

	json_add_raw(b, text);
	for (; at < b->n; at++)
		if (b->p[at] == '\r' || b->p[at] == '\n')
			b->p[at] = ' ';
}

void json_add_stored(struct buf *b, const char *text)
{
	size_t n = strlen(text);
	struct buf better;

	if (json_ok(text, n)) {
		add_one_line(b, text);
		return;
	}
	buf_init(&better, n * JSON_REPAIR_GROWTH + 1);
	(void)json_repair(text, n, &better);
	if (better.n > 0 && json_ok(better.p, better.n))
		add_one_line(b, better.p);
	else
		json_add_string(b, text, n);
	buf_fini(&better);
}

/* --- fields of shapes ---------------------------------------------------- */

static void add_opt(struct buf *b, int64_t n)
{
	if (n == OPT_NONE)
		json_add_null(b);
	else
		json_add_int(b, n);
}

void json_add_field(struct buf *b, const struct field *f, const void *obj)
{
	const void *at = field_in(f, obj);
	const char *json;

	switch (f->type) {
	case FIELD_i64:
		json_add_int(b, *(const field_i64 *)at);
		break;
	case FIELD_opt:
	case FIELD_time:
		add_opt(b, *(const field_opt *)at);
		break;
	case FIELD_bool:
		json_add_bool(b, *(const field_bool *)at);
		break;
	case FIELD_f64:
		json_add_real(b, *(const field_f64 *)at);
		break;
	case FIELD_text:
		json_add_text(b, *(const field_text *)at);
		break;
	case FIELD_json:
		json = *(const field_text *)at;
		json ? json_add_stored(b, json) : json_add_null(b);
		break;
	case FIELD_blob:
		json_add_int(b, (int64_t)((const struct blob *)at)->n);
		break;
	}
}

void json_add_shape(struct buf *b, const struct shape *s, const void *obj)
{
	json_begin_object(b);
	json_put_fields(b, s, obj);
	json_end_object(b);
}

/* --- members ------------------------------------------------------------- */

void json_put_object(struct buf *b, const char *name)
{
	json_key(b, name);
	json_begin_object(b);
}

void json_put_array(struct buf *b, const char *name)
{
	json_key(b, name);
	json_begin_array(b);
}

void json_put_text(struct buf *b, const char *name, const char *text)
{
	if (!text)
		return;
	json_key(b, name);
	json_add_string(b, text, strlen(text));
}

void json_put_nullable(struct buf *b, const char *name, const char *text)
{
	json_key(b, name);
	json_add_text(b, text);
}

void json_put_int(struct buf *b, const char *name, int64_t n)
{
	json_key(b, name);
	json_add_int(b, n);
}

void json_put_opt(struct buf *b, const char *name, int64_t n)
{
	if (n != OPT_NONE)
		json_put_int(b, name, n);
}

void json_put_bool(struct buf *b, const char *name, bool is_true)
{
	json_key(b, name);
	json_add_bool(b, is_true);
}

void json_put_null(struct buf *b, const char *name)
{
	json_key(b, name);
	json_add_null(b);
}

void json_put_raw(struct buf *b, const char *name, const char *json)
{
	if (!json)
		return;
	json_key(b, name);
	json_add_raw(b, json);
}

void json_put_stored(struct buf *b, const char *name, const char *text)
{
	if (!text)
		return;
	json_key(b, name);
	json_add_stored(b, text);
}

void json_put(struct buf *b, const char *name, const cJSON *v)
{
	if (!v)
		return;
	json_key(b, name);
	json_add(b, v);
}

void json_put_members(struct buf *b, const char *object)
{
	size_t n;

	object += strspn(object, SPACE "{");
	n = strlen(object);
	while (n > 0 && strchr(SPACE, object[n - 1]))
		n--;
	if (n > 0 && object[n - 1] == '}')
		n--;
	add_trimmed(b, object, n);
}

void json_put_fields(struct buf *b, const struct shape *s, const void *obj)
{
	for (size_t i = 0; i < s->nfields; i++) {
		json_key(b, s->fields[i].name);
		json_add_field(b, &s->fields[i], obj);
	}
}
