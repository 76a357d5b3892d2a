/* Definitions as JSON and as rows. */
#include "schema/control/agent.h"

#include "lib/base/text.h"
#include "lib/sandbox/spec.h"
#include "schema/control/child_limits.h"
#include "schema/control/run_workspace.h"
#include "schema/secret.h"

#include <stddef.h>
#include <string.h>

static const struct member {
	const char *name;
	size_t offset;
	const char *words; /* allowed, NULL: any text */
	const char *other; /* the value for null */
} members[] = {
	{"driver", offsetof(struct agent_row, driver), AGENT_DRIVERS, "script"},
	{"workspace", offsetof(struct agent_row, workspace), AGENT_WORKSPACES,
	 "disk"},
	{"model", offsetof(struct agent_row, model), NULL, NULL},
	{"prompt", offsetof(struct agent_row, prompt), NULL, NULL},
};

#define NMEMBERS (sizeof members / sizeof members[0])

static const char **slot(struct agent_row *row, const struct member *m)
{
	return (const char **)(void *)((char *)row + m->offset);
}

static int set_member(struct agent_row *row, const char *what,
		      const struct member *m, const cJSON *v, struct arena *a,
		      struct err *e)
{
	if (cJSON_IsNull(v)) {
		*slot(row, m) = m->other;
		return 0;
	}
	if (!cJSON_IsString(v))
		return err_set(e, ERR_INVALID, "%s: %s must be a string", what,
			       m->name);
	if (strlen(v->valuestring) > AGENT_TEXT_MAX)
		return err_set(e, ERR_TOOBIG, "%s: %s is over %u bytes", what,
			       m->name, AGENT_TEXT_MAX);
	if (m->words && text_check_word(m->name, m->words, v->valuestring, e)) {
		e->code = ERR_INVALID;
		return err_wrap(e, "%s", what);
	}
	*slot(row, m) = arena_text(a, v->valuestring);
	return 0;
}

static int set_flags(struct agent_row *row, const char *what, const cJSON *v,
		     struct err *e)
{
	if (!strcmp(v->string, "enabled")) {
		if (!cJSON_IsBool(v) && !cJSON_IsNull(v))
			return err_set(e, ERR_INVALID,
				       "%s: enabled must be true or false",
				       what);
		row->is_enabled = !cJSON_IsFalse(v);
		return 1;
	}
	if (!strcmp(v->string, "name")) {
		if (!cJSON_IsString(v) || strcmp(v->valuestring, row->name))
			return err_set(e, ERR_INVALID,
				       "%s: name must be '%s' or absent", what,
				       row->name);
		return 1;
	}
	if (!strcmp(v->string, "default")) {
		if (!cJSON_IsBool(v))
			return err_set(e, ERR_INVALID,
				       "%s: default must be true or false",
				       what);
		row->is_default = cJSON_IsTrue(v);
		return 1;
	}
	return 0;
}

/* Returns 1 if the member has a column, 0 if it belongs to spec. */
static int set_column(struct agent_row *row, const char *what, const cJSON *v,
		      struct arena *a, struct err *e)
{
	for (size_t i = 0; i < NMEMBERS; i++)
		if (!strcmp(members[i].name, v->string))
			return set_member(row, what, &members[i], v, a, e) ? -1
									   : 1;
	return set_flags(row, what, v, e);
}

static void merge_spec(cJSON *spec, const cJSON *v)
{
	cJSON_DeleteItemFromObjectCaseSensitive(spec, v->string);
	if (!cJSON_IsNull(v))
		cJSON_AddItemToObject(spec, v->string,
				      cJSON_Duplicate(v, true));
}

static int set_all(struct agent_row *row, const char *what, const cJSON *def,
		   cJSON *spec, struct arena *a, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, def)
	{
		int known = set_column(row, what, v, a, e);

		if (known < 0)
			return -1;
		if (!known)
			merge_spec(spec, v);
	}
	return 0;
}

static int check_sandbox(const char *what, const cJSON *spec, struct arena *a,
			 struct err *e)
{
	struct sandbox_spec s;

	return sandbox_spec_read(&s, spec, a, e) ? err_wrap(e, "%s", what) : 0;
}

static int check_namespace(const struct agent_row *row, const char *what,
			   const cJSON *spec, struct err *e)
{
	const char *mode = row->workspace ? row->workspace : "disk";

	return run_workspace_check_definition(spec, mode, e)
		       ? err_wrap(e, "%s", what)
		       : 0;
}

static int check_children(const char *what, const cJSON *spec, struct err *e)
{
	struct child_limits l;

	const cJSON *receive = json_member(spec, "receive");

	if (receive && !cJSON_IsBool(receive))
		return err_set(e, ERR_INVALID,
			       "%s: receive must be true or false", what);
	return child_limits_read(&l, spec, e) ? err_wrap(e, "%s", what) : 0;
}

/* Only a definition that changes the driver or its settings is checked. */
static int check_config(const struct agent_row *row, const char *what,
			const cJSON *def, const cJSON *spec, struct err *e)
{
	if (!row->driver || (!cJSON_HasObjectItem(def, "config") &&
			     !cJSON_HasObjectItem(def, "driver")))
		return 0;
	return definition_check_config(
		       row->driver,
		       cJSON_GetObjectItemCaseSensitive(spec, "config"), e)
		       ? err_wrap(e, "%s", what)
		       : 0;
}

int agent_from_json(struct agent_row *row, const char *what, const cJSON *def,
		    struct arena *a, struct err *e)
{
	struct buf text = BUF_MAX(AGENT_TEXT_MAX);
	const char *old = row->spec ? row->spec : "{}";
	cJSON *spec;
	int rc;

	if (secret_check(what, def, e))
		return -1;
	spec = json_parse_object("spec", old, strlen(old), e);
	if (!spec)
		return -1;
	rc = set_all(row, what, def, spec, a, e);
	if (!rc)
		rc = check_sandbox(what, spec, a, e);
	if (!rc)
		rc = check_namespace(row, what, spec, e);
	if (!rc)
		rc = check_children(what, spec, e);
	if (!rc)
		rc = check_config(row, what, def, spec, e);
	if (!rc)
		json_add(&text, spec);
	if (!rc && !(rc = buf_ok(&text, what, e)))
		row->spec = arena_text(a, text.p);
	cJSON_Delete(spec);
	buf_fini(&text);
	return rc;
}

void agent_to_json(const struct agent_row *row, struct buf *out)
{
	json_begin_object(out);
	for (size_t i = 0; i < NMEMBERS; i++) {
		const void *at = (const char *)row + members[i].offset;

		json_put_text(out, members[i].name, *(const char *const *)at);
	}
	json_put_bool(out, "enabled", row->is_enabled);
	json_put_members(out, row->spec ? row->spec : "{}");
	json_end_object(out);
}
