#include "cli/channel/channel_cli.h"

#include <string.h>

static int channel_set(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0), *key;
	struct channel_row row;
	cJSON *def, *config;
	int rc;

	if (!cli_many(cli, "set", 0) && !cli_many(cli, "unset", 0) &&
	    !cli_arg(cli, 1))
		return err_set(e, ERR_USAGE,
			       "nothing to change; use --set KEY=VALUE, "
			       "--unset KEY, or -- COMMAND... for a plugin");
	if (channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	config = json_parse_object("config", row.config, strlen(row.config), e);
	if (!config)
		return -1;
	for (int i = 0; (key = cli_many(cli, "unset", i)); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(config, key);
	def = cJSON_CreateObject();
	cJSON_AddItemToObject(def, "config", config);
	channel_command(cli, 1, def);
	rc = channel_settings(cli, def, e);
	if (rc == 0)
		rc = channel_store(cli, name, def, e);
	cJSON_Delete(def);
	return rc ? -1 : channel_print_stored(cli, name, "changed", e);
}

const struct command cmd_channel_set = {
	.name = "channel set",
	.args = "CHANNEL [COMMAND...]",
	.help = "change the settings of a channel, or the command of "
		"a plugin",
	.about = "The change takes effect at once. A plugin is "
		 "restarted.",
	.needs = NEEDS_CONTROL_WRITE,
	.arguments = ARGUMENTS(
		{"COMMAND", "new program of a plugin and its arguments; put -- "
			    "before it"}),
	.options = OPTIONS(
		OPTION(MANY, 0, "set", "KEY=VALUE",
		       "change a setting; VALUE is JSON or plain text; may "
		       "be repeated"),
		OPTION(MANY, 0, "unset", "KEY",
		       "reset a setting to its default; may be repeated")),
	.run = channel_set,
};
