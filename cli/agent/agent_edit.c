#include "cli/agent/agent_edit.h"

#include "lib/base/text.h"
#include "schema/control/control.h"

#include <string.h>

static int set_text_member(cJSON *def, const char *name, const char *text,
			   struct err *e)
{
	if (!text_is_utf8(text, strlen(text)))
		return err_set(e, ERR_USAGE, "%s is not valid UTF-8", name);
	cJSON_DeleteItemFromObjectCaseSensitive(def, name);
	cJSON_AddStringToObject(def, name, text);
	return 0;
}

static int add_prompt(struct cli *cli, cJSON *def, struct err *e)
{
	const char *path = cli_option(cli, "prompt-file");
	struct buf text = BUF_MAX(AGENT_TEXT_MAX);
	int rc = 0;

	if (path)
		rc = cli_read(path, &text, e);
	if (path && !rc && memchr(text.p, 0, text.n))
		rc = err_set(e, ERR_INVALID, "%s contains a NUL byte", path);
	if (path && !rc)
		rc = set_text_member(def, "prompt", text.p, e);
	buf_fini(&text);
	return rc;
}

/* The arguments after the name are the command of the driver. */
static void add_command(struct cli *cli, const struct agent_row *row,
			cJSON *config)
{
	cJSON *list;

	if (!cli_arg(cli, 1))
		return;
	list = cJSON_CreateArray();
	for (int i = 1; cli_arg(cli, i); i++)
		cJSON_AddItemToArray(
			list, cJSON_CreateString(agent_command_word(
				      cli, row, cli_arg(cli, i), i == 1)));
	cJSON_DeleteItemFromObjectCaseSensitive(config, "command");
	cJSON_DeleteItemFromObjectCaseSensitive(config, "shell");
	cJSON_AddItemToObject(config, "command", list);
}

/* Options that are settings of the driver. */
static int add_settings(struct cli *cli, cJSON *config, struct err *e)
{
	static const char *const names[][2] = {{"endpoint", "endpoint"},
					       {"key-file", "key_file"}};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (cli_flag(cli, names[i][0]) &&
		    set_text_member(config, names[i][1],
				    cli_option(cli, names[i][0]), e))
			return -1;
	return 0;
}

/* They go to "config", whose other members are kept. */
static int add_config(struct cli *cli, const struct agent_row *row, cJSON *def,
		      struct err *e)
{
	cJSON *config = cJSON_DetachItemFromObjectCaseSensitive(def, "config");
	cJSON *spec;

	if (!cli_arg(cli, 1) && !cli_flag(cli, "endpoint") &&
	    !cli_flag(cli, "key-file")) {
		if (config)
			cJSON_AddItemToObject(def, "config", config);
		return 0;
	}
	spec = json_parse_object("definition", row->spec, strlen(row->spec), e);
	if (!spec)
		return -1;
	if (!config)
		config = cJSON_DetachItemFromObjectCaseSensitive(spec,
								 "config");
	cJSON_Delete(spec);
	if (!cJSON_IsObject(config)) {
		cJSON_Delete(config);
		config = cJSON_CreateObject();
	}
	add_command(cli, row, config);
	cJSON_AddItemToObject(def, "config", config);
	return add_settings(cli, config, e);
}

static int add_path(struct cli *cli, cJSON *def, struct err *e)
{
	const char *path;

	if (!cli_flag(cli, "path"))
		return 0;
	path = agent_path_option(cli, e);
	return path ? set_text_member(def, "path", path, e) : -1;
}

static int apply_file(struct cli *cli, struct agent_row *row, struct err *e)
{
	const char *path = cli_option(cli, "from");
	struct buf text = BUF_MAX(4u * AGENT_TEXT_MAX);
	cJSON *def = NULL;
	int rc = path ? cli_read(path, &text, e) : 0;

	if (path && !rc) {
		struct agent_text from = {path, NULL, text.p};

		from.def = def = json_parse_object(path, text.p, text.n, e);
		rc = def && !agent_check_members(&from, row, e)
			     ? agent_from_json(row, path, def, &cli->arena, e)
			     : -1;
	}
	cJSON_Delete(def);
	buf_fini(&text);
	return rc;
}

/* Creates the paths that the preset may write to. Other paths are up to the
 * user. */
static int use_preset(struct cli *cli, cJSON *def, struct err *e)
{
	const char *name = cli_option(cli, "preset");
	bool own = cJSON_HasObjectItem(def, "paths");

	acp_preset_apply(def, name);
	return own ? 0 : acp_preset_make(name, e);
}

int agent_edit(struct cli *cli, struct agent_row *row, struct err *e)
{
	static const char *const texts[] = {"driver", "workspace", "model",
					    "prompt"};
	cJSON *def = cJSON_CreateObject();
	struct agent_text from = {.what = "the definition", .def = def};
	int rc = apply_file(cli, row, e);

	for (size_t i = 0; !rc && i < sizeof texts / sizeof texts[0]; i++)
		if (cli_flag(cli, texts[i]))
			rc = set_text_member(def, texts[i],
					     cli_option(cli, texts[i]), e);
	if (!rc)
		rc = add_prompt(cli, def, e);
	if (!rc)
		rc = add_path(cli, def, e);
	if (!rc)
		rc = agent_set_members(cli, row, def, e);
	if (!rc)
		rc = use_preset(cli, def, e);
	if (!rc)
		rc = add_config(cli, row, def, e);
	if (!rc)
		rc = agent_check_members(&from, row, e);
	if (!rc)
		rc = agent_from_json(row, "the definition", def, &cli->arena,
				     e);
	cJSON_Delete(def);
	return rc;
}

const char *agent_url(struct cli *cli, const char *name, const char *rest)
{
	return arena_printf(&cli->arena, "/v1/agents/%s%s", name, rest);
}

static int store(struct cli *cli, void *arg, struct err *e)
{
	return agents_put(cli->control, arg, &cli->arena, e) < 0 ? -1 : 0;
}

int agent_store(struct cli *cli, struct agent_row *row, struct err *e)
{
	struct buf body = BUF_MAX(4u * AGENT_TEXT_MAX);
	struct buf definition = BUF_MAX(4u * AGENT_TEXT_MAX);
	struct cli_act act = {.method = "PUT",
			      .path = agent_url(cli, row->name, ""),
			      .direct = store,
			      .arg = row};
	int rc;

	agent_to_json(row, &definition);
	json_begin_object(&body);
	json_put_members(&body, definition.p);
	/* a member of the request, not of the definition */
	if (row->is_default)
		json_put_bool(&body, "default", true);
	json_end_object(&body);
	act.body = body.p;
	rc = buf_ok(&definition, "the definition", e) ||
			     buf_ok(&body, "the definition", e)
		     ? -1
		     : 0;
	if (!rc)
		rc = cli_act(cli, &act, e);
	buf_fini(&definition);
	buf_fini(&body);
	return rc;
}

int agent_print_stored(struct cli *cli, const char *name, const char *verb,
		       struct err *e)
{
	struct agent_row row;

	if (cli->out.json)
		return agent_print(cli, name, e);
	if (agents_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	output_note(&cli->out, "%s agent %s: driver %s%s%s%s", verb, row.name,
		    row.driver, row.model ? ", model " : "",
		    row.model ? row.model : "",
		    row.is_default ? ", the default agent" : "");
	return 0;
}

int agent_print(struct cli *cli, const char *name, struct err *e)
{
	struct agent_row row;

	if (agents_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	output_object(&cli->out, &agent_row_shape, &row);
	return 0;
}
