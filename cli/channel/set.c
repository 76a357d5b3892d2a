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
			       "nothing to change: use --set KEY=VALUE, "
			       "--unset KEY, or -- COMMAND... of a plugin");
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
	return rc ? -1 : channel_print(cli, name, e);
}

const struct command cmd_channel_set = {
	.name = "channel set",
	.args = "NAME [COMMAND...]",
	.help = "change settings of a channel, or the command of a plugin",
	.about = "A running supervisor follows at once: a plugin is ended and "
		 "started anew with what\nit is told now. Put -- before "
		 "COMMAND.",
	.needs = NEEDS_CONTROL_WRITE,
	.options =
		(const struct option_spec[]){
			{"set", "KEY=VALUE",
			 "a setting; VALUE is JSON or plain text", OPTION_MANY},
			{"unset", "KEY", "back to its default", OPTION_MANY},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_set,
};
