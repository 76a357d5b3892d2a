/* Writing: values, strings, fields of shapes. */
#include "lib/json/json.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPAIR_GROWTH 6 /* a byte may become \ufffd */

static void add_number(struct buf *b, const cJSON *v)
{
	char text[40];

	if (v->valuestring) { /* as it was read */
		buf_adds(b, v->valuestring);
		return;
	}
	if (!isfinite(v->valuedouble)) {
		buf_adds(b, "null");
		return;
	}
	snprintf(text, sizeof text, "%.15g", v->valuedouble);
	if (strtod(text, NULL) != v->valuedouble)
		snprintf(text, sizeof text, "%.17g", v->valuedouble);
	buf_adds(b, text);
}

static void add_leaf(struct buf *b, const cJSON *v)
{
	if (cJSON_IsString(v))
		json_add_string(b, v->valuestring, strlen(v->valuestring));
	else if (cJSON_IsNumber(v))
		add_number(b, v);
	else if (cJSON_IsArray(v) || cJSON_IsObject(v))
		buf_adds(b, cJSON_IsArray(v) ? "[]" : "{}");
	else if (cJSON_IsBool(v))
		buf_adds(b, cJSON_IsTrue(v) ? "true" : "false");
	else
		buf_adds(b, "null");
}

/* Writes a value and the rest of its containers without recursion. */
void json_add(struct buf *b, const cJSON *v)
{
	const cJSON *up[CJSON_NESTING_LIMIT];
	int depth = 0;

	for (;;) {
		if (depth > 0 && cJSON_IsObject(up[depth - 1])) {
			json_add_string(b, v->string, strlen(v->string));
			buf_addc(b, ':');
		}
		if (v->child && depth < CJSON_NESTING_LIMIT) {
			buf_addc(b, cJSON_IsArray(v) ? '[' : '{');
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
		buf_addc(b, ',');
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

void json_add_member(struct buf *b, const char *name, const char *text)
{
	if (!text)
		return;
	if (b->n == 0)
		buf_addc(b, '{');
	else if (b->p[b->n - 1] != '{')
		buf_addc(b, ',');
	buf_addf(b, "\"%s\":", name);
	json_add_string(b, text, strlen(text));
}

/* The text is valid JSON: its line breaks are white space, since strings have
 * none. */
static void add_one_line(struct buf *b, const char *text, size_t n)
{
	while (n > 0) {
		size_t run = strcspn(text, "\r\n");

		buf_add(b, text, run);
		if (run < n)
			buf_addc(b, ' ');
		run += run < n;
		text += run;
		n -= run;
	}
}

void json_add_stored(struct buf *b, const char *text)
{
	size_t n = strlen(text);
	struct buf better;

	if (json_ok(text, n)) {
		add_one_line(b, text, n);
		return;
	}
	buf_init(&better, n * REPAIR_GROWTH + 1);
	(void)json_repair(text, n, &better);
	if (better.n > 0 && json_ok(better.p, better.n))
		add_one_line(b, better.p, better.n);
	else
		json_add_string(b, text, n);
	buf_fini(&better);
}

static void add_stored_text(struct buf *b, const char *s, bool is_json)
{
	if (!s)
		buf_adds(b, "null");
	else if (is_json)
		json_add_stored(b, s);
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
		add_stored_text(b, *(const field_text *)at,
				f->type == FIELD_json);
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
