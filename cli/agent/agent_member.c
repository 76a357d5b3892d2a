/* --set KEY=VALUE and --unset KEY. */
#include "cli/agent/agent_edit.h"

#include "lib/base/text.h"

#include <string.h>

#define KEY_SIZE 256

/* JSON if the value parses, else a string. */
static cJSON *value_of(const char *key, const char *text, struct err *e)
{
	struct err ignored;
	cJSON *v = json_parse("--set", text, strlen(text), &ignored);

	if (v)
		return v;
	if (*text ==
	    '{') { /* it looks like JSON; as a string it would fail later */
		/* the error contains the position */
		json_parse(key, text, strlen(text), e);
		err_wrap(e, "--set");
		e->code = ERR_USAGE;
		return NULL;
	}
	if (!text_is_utf8(text, strlen(text))) {
		err_set(e, ERR_USAGE, "%s is not valid UTF-8", key);
		return NULL;
	}
	return cJSON_CreateString(text);
}

/* Splits KEY=VALUE. */
static cJSON *read_pair(const char *pair, char key[KEY_SIZE], struct err *e)
{
	const char *value = strchr(pair, '=');

	if (!value || value == pair) {
		err_set(e, ERR_USAGE, "--set: '%s' is not KEY=VALUE",
			quoted(pair).text);
		return NULL;
	}
	if (snprintf(key, KEY_SIZE, "%.*s", (int)(value - pair), pair) >=
		    KEY_SIZE ||
	    text_check_key("--set: the key", key, KEY_SIZE, e)) {
		err_set(e, ERR_USAGE,
			"--set: the key in '%s' is too long or not "
			"UTF-8",
			quoted(pair).text);
		return NULL;
	}
	return value_of(key, value + 1, e);
}

static void set_member(cJSON *obj, const char *name, cJSON *v)
{
	cJSON_DeleteItemFromObjectCaseSensitive(obj, name);
	cJSON_AddItemToObject(obj, name, v);
}

int cli_set_member(cJSON *def, const char *pair, struct err *e)
{
	char key[KEY_SIZE];
	cJSON *v = read_pair(pair, key, e);

	if (v)
		set_member(def, key, v);
	return v ? 0 : -1;
}

/* Removes the first name of a path of names separated by dots; "\." is a dot in
 * a name. Returns the rest, or NULL if this was the last. */
static char *cut(char *path)
{
	char *to = path;

	for (; *path && *path != '.'; path++) {
		if (path[0] == '\\' && path[1] == '.')
			path++;
		*to++ = *path;
	}
	if (!*path)
		path = NULL;
	*to = '\0';
	return path ? path + 1 : NULL;
}

/* The member with this name as an object, created if it is absent. */
static cJSON *inner(cJSON *obj, const char *name, const char *full,
		    struct err *e)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (cJSON_IsNull(v)) {
		cJSON_DeleteItemFromObjectCaseSensitive(obj, name);
		v = NULL;
	}
	if (!v)
		return cJSON_AddObjectToObject(obj, name);
	if (cJSON_IsObject(v))
		return v;
	err_set(e, ERR_INVALID, "%s: %s is not an object", full, name);
	return NULL;
}

/* A change inside a member starts with the stored one: members that the options
 * do not name are kept. */
static int begin_with_stored(cJSON *def, const char *spec, const char *name,
			     struct err *e)
{
	cJSON *all, *v;

	if (cJSON_HasObjectItem(def, name))
		return 0;
	all = json_parse_object("definition", spec, strlen(spec), e);
	if (!all)
		return -1;
	v = cJSON_DetachItemFromObjectCaseSensitive(all, name);
	cJSON_Delete(all);
	if (v)
		set_member(def, name, v);
	return 0;
}

/* Sets a member; takes v. NULL deletes the member. */
static int set_path(cJSON *def, const char *spec, const char *full, cJSON *v,
		    struct err *e)
{
	char path[KEY_SIZE], *name = path, *rest;
	cJSON *obj = def;
	int rc = 0;

	snprintf(path, sizeof path, "%s", full);
	rest = cut(name);
	if (rest && *name)
		rc = begin_with_stored(def, spec, name, e);
	while (!rc && rest && *name) {
		obj = inner(obj, name, full, e);
		rc = obj ? 0 : -1;
		name = rest;
		rest = cut(name);
	}
	if (!rc && !*name)
		rc = err_set(e, ERR_USAGE, "'%s' contains an empty member name",
			     quoted(full).text);
	if (rc) {
		cJSON_Delete(v);
		return -1;
	}
	if (v)
		set_member(obj, name, v);
	else if (obj == def) /* null deletes a stored member */
		set_member(obj, name, cJSON_CreateNull());
	else
		cJSON_DeleteItemFromObjectCaseSensitive(obj, name);
	return 0;
}

/* A name with a dot that an earlier version stored unchanged. */
static bool is_stored(const char *spec, const char *name)
{
	struct err ignored;
	cJSON *all = json_parse("spec", spec, strlen(spec), &ignored);
	bool found = cJSON_GetObjectItemCaseSensitive(all, name) != NULL;

	cJSON_Delete(all);
	return found;
}

static int unset(cJSON *def, const char *spec, const char *name, struct err *e)
{
	if (is_stored(spec, name)) {
		set_member(def, name, cJSON_CreateNull());
		return 0;
	}
	return set_path(def, spec, name, NULL, e);
}

int agent_set_members(struct cli *cli, const struct agent_row *row, cJSON *def,
		      struct err *e)
{
	const char *spec = row->spec ? row->spec : "{}", *word;
	char key[KEY_SIZE];

	for (int i = 0; (word = cli_many(cli, "set", i)); i++) {
		cJSON *v = read_pair(word, key, e);

		if (!v || set_path(def, spec, key, v, e))
			return -1;
	}
	for (int i = 0; (word = cli_many(cli, "unset", i)); i++)
		if (unset(def, spec, word, e))
			return -1;
	if (cli_flag(cli, "enable") || cli_flag(cli, "disable"))
		cJSON_AddBoolToObject(def, "enabled", cli_flag(cli, "enable"));
	return 0;
}
