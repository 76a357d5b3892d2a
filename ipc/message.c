#include "ipc/message.h"

#include "lib/base/text.h"
#include "lib/json/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum need { MAY, NEED };

/* One field of one message, as in message.def. */
struct msg_field {
	struct field field;
	enum need need;
	int64_t max;
	const char *words;
};

#define ROW(tag, type, name, need, max, words)                    \
	{{#name, FIELD_##type, offsetof(struct msg_##tag, name)}, \
	 need,                                                    \
	 max,                                                     \
	 words},
#define M(name, FIELDS, side, kind)                       \
	static const struct msg_field name##_fields[] = { \
		MSG_##FIELDS(ROW, name)};
MSG_LIST(M)
#undef M

static const struct {
	const char *name;
	enum msg_side side;
	enum msg_kind kind;
	size_t nfields;
	const struct msg_field *fields;
} kinds[] = {
#define M(name, FIELDS, side, kind)                                          \
	[MSG_TYPE_##FIELDS] = {#name, side, kind,                            \
			       sizeof name##_fields / sizeof *name##_fields, \
			       name##_fields},
	MSG_LIST(M)
#undef M
};

const char *msg_name(enum msg_type type)
{
	assert(type < MSG_TYPES);
	return kinds[type].name;
}

enum msg_kind msg_kind(enum msg_type type)
{
	assert(type < MSG_TYPES);
	return kinds[type].kind;
}

enum msg_side msg_side(enum msg_type type)
{
	assert(type < MSG_TYPES);
	return kinds[type].side;
}

static bool one_of(const char *words, const char *text)
{
	size_t n = strlen(text);

	for (const char *w = words; *w;) {
		size_t len = strcspn(w, "|");

		if (len == n && memcmp(w, text, n) == 0)
			return true;
		w += len + (w[len] == '|');
	}
	return false;
}

static int check_text(const struct msg_field *f, const char *text,
		      struct err *e)
{
	size_t n = text ? strlen(text) : 0;

	if (!text)
		return f->need == NEED ? err_set(e, ERR_PROTOCOL,
						 "%s is missing", f->field.name)
				       : 0;
	if (n > (size_t)f->max)
		return err_set(e, ERR_PROTOCOL,
			       "%s has %zu bytes, over %" PRId64, f->field.name,
			       n, f->max);
	if (f->words[0] && !one_of(f->words, text))
		return err_set(e, ERR_PROTOCOL, "%s is %s, not one of %s",
			       f->field.name, quoted(text).text, f->words);
	return 0;
}

static int check_number(const struct msg_field *f, int64_t v, struct err *e)
{
	if (f->field.type == FIELD_opt && v == OPT_NONE)
		return 0;
	if (v < 0 || v > f->max)
		return err_set(e, ERR_PROTOCOL,
			       "%s is %" PRId64 ", not from 0 to %" PRId64,
			       f->field.name, v, f->max);
	return 0;
}

/* The two common groups of fields. */
static bool is_number(const struct msg_field *f)
{
	return f->field.type == FIELD_i64 || f->field.type == FIELD_opt;
}

static int put_field(const struct msg_field *f, const void *obj, struct buf *b,
		     struct err *e)
{
	const void *at = field_in(&f->field, obj);

	if (is_number(f)) {
		int64_t v = *(const int64_t *)at;

		if (check_number(f, v, e))
			return -1;
		json_put_opt(b, f->field.name, v);
		return 0;
	}
	if (check_text(f, *(const field_text *)at, e))
		return -1;
	if (*(const field_text *)at) {
		json_key(b, f->field.name);
		json_add_field(b, &f->field, obj);
	}
	return 0;
}

int msg_encode(const struct msg *m, struct buf *b, struct err *e)
{
	size_t before = b->n;

	assert(m->type < MSG_TYPES);
	json_begin_object(b);
	json_put_text(b, "type", kinds[m->type].name);
	for (size_t i = 0; i < kinds[m->type].nfields; i++) {
		if (put_field(&kinds[m->type].fields[i], &m->u, b, e)) {
			b->n = before;
			b->p[before] = '\0';
			return err_wrap(e, "%s", kinds[m->type].name);
		}
	}
	json_end_object(b);
	return buf_ok(b, kinds[m->type].name, e);
}

static int get_number(const struct msg_field *f, const cJSON *v, void *obj,
		      struct err *e)
{
	int64_t *out = field_out(&f->field, obj);

	*out = OPT_NONE;
	if (!v || cJSON_IsNull(v))
		return f->need == NEED ? err_set(e, ERR_PROTOCOL,
						 "%s is missing", f->field.name)
				       : 0;
	if (!cJSON_IsNumber(v) || v->valuedouble < 0 ||
	    v->valuedouble > (double)f->max ||
	    floor(v->valuedouble) != v->valuedouble)
		return err_set(e, ERR_PROTOCOL,
			       "%s is not a whole number from 0 to %" PRId64,
			       f->field.name, f->max);
	*out = (int64_t)v->valuedouble;
	return 0;
}

static int get_text(const struct msg_field *f, const cJSON *v, struct arena *a,
		    void *obj, struct err *e)
{
	field_text *out = field_out(&f->field, obj);

	*out = NULL;
	if (v && !cJSON_IsNull(v)) {
		if (!cJSON_IsString(v))
			return err_set(e, ERR_PROTOCOL, "%s is not a string",
				       f->field.name);
		*out = arena_text(a, v->valuestring);
	}
	return check_text(f, *out, e);
}

static int get_json(const struct msg_field *f, const cJSON *v, struct arena *a,
		    void *obj, struct err *e)
{
	struct buf b = BUF_MAX((size_t)MSG_MAX_BYTES * 2);
	field_json *out = field_out(&f->field, obj);
	int rc;

	*out = NULL;
	if (v)
		json_add(&b, v);
	if (b.n > 0 && strcmp(b.p, "null") != 0)
		*out = arena_textn(a, b.p, b.n);
	rc = buf_ok(&b, f->field.name, e);
	buf_fini(&b);
	return rc ? -1 : check_text(f, *out, e);
}

static int get_field(const struct msg_field *f, const cJSON *v, struct arena *a,
		     void *obj, struct err *e)
{
	if (is_number(f))
		return get_number(f, v, obj, e);
	if (f->field.type == FIELD_json)
		return get_json(f, v, a, obj, e);
	return get_text(f, v, a, obj, e);
}

static int type_of(const cJSON *tree, enum msg_side from, enum msg_type *out,
		   struct err *e)
{
	const char *name = json_text(tree, "type", NULL);

	if (!name)
		return err_set(e, ERR_PROTOCOL, "the message has no type");
	for (size_t i = 0; i < MSG_TYPES; i++) {
		if (strcmp(kinds[i].name, name) != 0)
			continue;
		if (kinds[i].side != from)
			return err_set(e, ERR_PROTOCOL,
				       "%s is not for the %s to send", name,
				       from == SIDE_WORKER ? "worker"
							   : "supervisor");
		*out = (enum msg_type)i;
		return 0;
	}
	return err_set(e, ERR_PROTOCOL, "unknown type of message %s",
		       quoted(name).text);
}

static int decode_tree(const cJSON *tree, enum msg_side from, struct arena *a,
		       struct msg *m, struct err *e)
{
	if (type_of(tree, from, &m->type, e))
		return -1;
	for (size_t i = 0; i < kinds[m->type].nfields; i++) {
		const struct msg_field *f = &kinds[m->type].fields[i];
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(
			tree, f->field.name);

		if (get_field(f, v, a, &m->u, e))
			return err_wrap(e, "%s", kinds[m->type].name);
	}
	return 0;
}

int msg_decode(const char *text, size_t n, enum msg_side from, struct arena *a,
	       struct msg *m, struct err *e)
{
	cJSON *tree;
	int rc;

	*m = (struct msg){0};
	if (n > MSG_MAX_BYTES)
		return err_set(e, ERR_PROTOCOL, "a message of %zu bytes", n);
	tree = json_parse_object("message", text, n, e);
	if (!tree) {
		e->code = ERR_PROTOCOL;
		return -1;
	}
	rc = decode_tree(tree, from, a, m, e);
	cJSON_Delete(tree);
	return rc;
}
