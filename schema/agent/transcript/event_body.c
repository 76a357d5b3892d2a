#include "schema/agent/transcript/event_body.h"

#include <string.h>

enum {
	STRING = cJSON_String,
	NUMBER = cJSON_Number,
	BOOLEAN = cJSON_True | cJSON_False,
	ARRAY = cJSON_Array,
	OBJECT = cJSON_Object,
	NONE = cJSON_NULL
};

static const struct {
	const char *type, *member;
	int types;
} rules[] = {
#define BODY(type, member, types) {#type, #member, types},
#include "schema/agent/transcript/event_body.def"
#undef BODY
};

static const struct {
	int type;
	const char *word;
} words[] = {{cJSON_String, "a string"},    {cJSON_Number, "a number"},
	     {cJSON_True, "true or false"}, {cJSON_Array, "an array"},
	     {cJSON_Object, "an object"},   {cJSON_NULL, "null"}};

static int refuse_member(const char *type, const char *member, int types,
			 struct err *e)
{
	struct buf b = BUF_MAX(128);

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (types & words[i].type)
			buf_addf(&b, "%s%s", b.n ? " or " : "", words[i].word);
	err_set(e, ERR_INVALID,
		"the body of an event of type %s: \"%s\" must be %s", type,
		member, b.p);
	buf_fini(&b);
	return -1;
}

int event_body_check(const char *type, const cJSON *body, struct err *e)
{
	if (!cJSON_IsObject(body))
		return err_set(e, ERR_INVALID,
			       "the body of an event must be a JSON object");
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		const cJSON *v;

		if (strcmp(rules[i].type, type) != 0)
			continue;
		v = cJSON_GetObjectItemCaseSensitive(body, rules[i].member);
		if (v && !(v->type & rules[i].types))
			return refuse_member(type, rules[i].member,
					     rules[i].types, e);
	}
	return 0;
}

int event_body_check_text(const char *type, const char *text, size_t n,
			  struct err *e)
{
	cJSON *v = json_parse("the body", text, n, e);
	int rc = v ? event_body_check(type, v, e) : -1;

	cJSON_Delete(v);
	return rc;
}

/* A CHECK guarantees that rows contain valid JSON, so the first character
 * identifies an object. If the check was disabled, the text becomes a
 * string. */
const char *event_body_read(const char *stored, struct arena *a)
{
	struct err ignored;
	struct buf b = BUF_MAX(SIZE_MAX / 2); /* the size of a row is limited */
	const char *text;
	cJSON *v;

	if (stored[strspn(stored, " \t\r\n")] == '{')
		return arena_text(a, stored);
	v = json_parse("body", stored, strlen(stored), &ignored);
	json_begin_object(&b);
	if (v)
		json_put(&b, "invalid", v);
	else
		json_put_text(&b, "invalid", stored);
	json_end_object(&b);
	cJSON_Delete(v);
	text = arena_textn(a, b.p, b.n);
	buf_fini(&b);
	return text;
}
