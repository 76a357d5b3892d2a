#include "cli/remote.h"

#include "lib/base/id.h"
#include "lib/base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SCOPES "read|run|approve|admin"

#define ANSWER_MAX (64u << 20)

cJSON *remote_call(struct cli *cli, const char *method, const char *path,
		   const char *body, struct err *e)
{
	struct buf answer = BUF_MAX(ANSWER_MAX);
	cJSON *json = NULL;

	if (cli_call(cli, method, path, body, &answer, e) >= 0)
		json = json_parse_object("the supervisor's answer", answer.p,
					 answer.n, e);
	buf_fini(&answer);
	return json;
}

static void read_field(const cJSON *v, const struct field *f, void *out)
{
	void *at = field_out(f, out);
	bool number = cJSON_IsNumber(v);

	switch (f->type) {
	case FIELD_i64:
		*(field_i64 *)at = number ? (int64_t)v->valuedouble : 0;
		break;
	case FIELD_opt:
	case FIELD_time:
		*(field_opt *)at = number ? (int64_t)v->valuedouble : OPT_NONE;
		break;
	case FIELD_bool:
		*(field_bool *)at = cJSON_IsTrue(v);
		break;
	case FIELD_f64:
		*(field_f64 *)at = number ? v->valuedouble : 0;
		break;
	case FIELD_text:
		*(field_text *)at = cJSON_IsString(v) ? v->valuestring : NULL;
		break;
	case FIELD_json:
	case FIELD_blob:
		break; /* the caller does not print them */
	}
}

void remote_read(const cJSON *obj, const struct shape *shape, void *out)
{
	memset(out, 0, shape->size);
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct field *f = &shape->fields[i];

		read_field(cJSON_GetObjectItem(obj, f->name), f, out);
	}
}

static void print_json(struct cli *cli, const cJSON *item)
{
	struct buf b = BUF_MAX(ANSWER_MAX);

	json_add(&b, item);
	output_json(&cli->out, b.p);
	buf_fini(&b);
}

int remote_print_first(struct cli *cli, const char *path, int64_t most,
		       struct err *e)
{
	cJSON *json = remote_call(cli, "GET", path, NULL, e);
	const cJSON *item;

	if (!json)
		return -1;
	cJSON_ArrayForEach(item,
			   cJSON_GetObjectItem(json, "items")) if (most-- > 0)
		print_json(cli, item);
	cJSON_Delete(json);
	return 0;
}

void remote_done(struct cli *cli, const cJSON *answer)
{
	if (cli->out.json)
		print_json(cli, answer);
	else if (json_text(answer, "id", "")[0])
		output_note(&cli->out, "%s: %s", json_text(answer, "id", ""),
			    json_text(answer, "note", "done"));
	else
		output_note(&cli->out, "%s", json_text(answer, "note", "done"));
}

void remote_result(struct cli *cli, const cJSON *answer, const char *fmt, ...)
{
	struct buf text = BUF_MAX(1 << 16);
	va_list ap;

	if (cli->out.json) {
		print_json(cli, answer);
		return;
	}
	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	output_note(&cli->out, "%s", text.p);
	buf_fini(&text);
}

int remote_post(struct cli *cli, const char *path, const char *body,
		struct err *e)
{
	cJSON *json = path ? remote_call(cli, "POST", path, body, e) : NULL;

	if (!json)
		return -1;
	remote_done(cli, json);
	cJSON_Delete(json);
	return 0;
}

const char *remote_path(struct cli *cli, enum id_kind kind, const char *id,
			const char *verb, struct err *e)
{
	const char *what = kind == ID_RUN ? "runs" : "approvals";

	if (!id_is(kind, id)) {
		err_set(e, ERR_USAGE, "'%s' is not the id of %s (%s_...)",
			quoted(id).text,
			kind == ID_RUN ? "a run" : "an approval",
			id_prefix(kind));
		return NULL;
	}
	return arena_printf(&cli->arena, "/v1/%s/%s%s%s", what, id,
			    verb ? "/" : "", verb ? verb : "");
}

const char *remote_text(struct cli *cli, const char *name, const char *text)
{
	struct buf b = BUF_MAX(ANSWER_MAX);
	const char *out;

	json_begin_object(&b);
	json_put_text(&b, name, text);
	json_end_object(&b);
	out = arena_text(&cli->arena, b.p);
	buf_fini(&b);
	return out;
}

int remote_put_scopes(struct cli *cli, struct buf *body, struct err *e)
{
	const char *scope = cli_many(cli, "scope", 0);

	if (!scope)
		return 0; /* the default of the route */
	json_put_array(body, "scopes");
	for (int i = 1; scope; i++) {
		if (text_check_word("--scope", SCOPES, scope, e))
			return -1;
		json_add_text(body, scope);
		scope = cli_many(cli, "scope", i);
	}
	json_end_array(body);
	return 0;
}
