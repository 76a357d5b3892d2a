#include "supervisor/api/body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/json/json.h"

static const struct field *field_of(const struct shape *s, const char *name)
{
	for (size_t i = 0; i < s->nfields; i++)
		if (strcmp(s->fields[i].name, name) == 0)
			return &s->fields[i];
	return NULL;
}

static int wrong(const char *name, const char *kind, struct err *e)
{
	return err_set(e, ERR_INVALID, "\"%s\" must be %s", name, kind);
}

static int take_number(const cJSON *v, const char *name, int64_t *out,
		       struct err *e)
{
	if (!cJSON_IsNumber(v) || v->valuedouble != floor(v->valuedouble) ||
	    !(fabs(v->valuedouble) < 9.2e18))
		return wrong(name, "a whole number", e);
	if (fabs(v->valuedouble) <= 9007199254740991.0) {
		*out = (int64_t)v->valuedouble;
		return 0;
	}
	/* beyond what a double counts, the digits themselves (lib/json/json.h) */
	if (!v->valuestring || strpbrk(v->valuestring, ".eE"))
		return wrong(name, "a whole number", e);
	*out = strtoll(v->valuestring, NULL, 10);
	return 0;
}

static const char *json_in(struct arena *a, const cJSON *v)
{
	struct buf b = BUF_MAX(SIZE_MAX / 2); /* the request is bounded */
	const char *text;

	json_add(&b, v);
	text = arena_textn(a, b.p, b.n);
	buf_fini(&b);
	return text;
}

static int read_field(const cJSON *v, const struct field *f, void *at,
		      struct arena *a, struct err *e)
{
	switch (f->type) {
	case FIELD_text:
		if (!cJSON_IsString(v))
			return wrong(f->name, "a text", e);
		*(const char **)at = arena_text(a, v->valuestring);
		return 0;
	case FIELD_json:
		*(const char **)at = json_in(a, v);
		return 0;
	case FIELD_bool:
		if (!cJSON_IsBool(v))
			return wrong(f->name, "true or false", e);
		*(bool *)at = cJSON_IsTrue(v);
		return 0;
	case FIELD_i64:
	case FIELD_opt:
	case FIELD_time:
		return take_number(v, f->name, at, e);
	case FIELD_f64:
	case FIELD_blob:
		break;
	}
	return wrong(f->name, "left out", e);
}

int api_body(const struct http_request *r, const struct shape *s, void *obj,
	     struct arena *a, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, http_body_members(r))
	{
		const struct field *f = field_of(s, v->string);

		if (!f)
			return err_set(e, ERR_INVALID, "unknown member %s",
				       quoted(v->string).text);
		if (!cJSON_IsNull(v) &&
		    read_field(v, f, field_out(f, obj), a, e))
			return -1;
	}
	return 0;
}
