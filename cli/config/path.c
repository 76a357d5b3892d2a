#include "cli/cli.h"

#include "lib/os/file.h"

#define PLACE(F, S) F(S, text, path) F(S, bool, exists)
SHAPE_DECLARE(config_place, PLACE);
SHAPE_DEFINE(config_place, PLACE);

static int config_path(struct cli *cli, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONFIG);
	struct config_place place = {path.text, file_exists(path.text)};

	(void)e;
	if (cli->out.json)
		output_object(&cli->out, &config_place_shape, &place);
	else
		output_note(&cli->out, "%s", path.text);
	return 0;
}

const struct command cmd_config_path = {
	.name = "config path",
	.help = "print the path of the configuration file",
	.needs = NEEDS_HOME,
	.run = config_path,
};
