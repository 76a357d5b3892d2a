#include "cli/agent/agent_edit.h"

static int refuse_known(struct cli *cli, const char *name, struct err *e)
{
	struct agent_row row;
	struct err none;

	if (agents_get(cli->control, name, &row, &cli->arena, &none))
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "there is an agent '%s' already; 'skep agent set' "
		       "changes it",
		       name);
}

static int agent_add(struct cli *cli, struct err *e)
{
	struct agent_row row = {.name = cli_arg(cli, 0),
				.workspace = "disk",
				.is_enabled = true,
				.spec = "{}",
				.source = "command"};

	if (refuse_known(cli, row.name, e) || agent_edit(cli, &row, e))
		return -1;
	if (!row.driver)
		return err_set(e, ERR_USAGE,
			       "agent '%s' needs --driver, one of %s", row.name,
			       AGENT_DRIVERS);
	if (agent_store(cli, &row, e))
		return -1;
	return agent_print(cli, row.name, e);
}

const struct command cmd_agent_add = {
	.name = "agent add",
	.args = "NAME [COMMAND...]",
	.help = "define an agent; the first one becomes the default",
	.about =
		"COMMAND is what the driver executes; put -- before it: skep "
		"agent add echo --driver exec\n-- sh -c 'cat'. It becomes "
		"\"command\" in \"config\", which holds the driver's own "
		"settings.\nOther members (config, limits, …) are kept as they "
		"are: give them with --set or in the\nfile of --from. The "
		"agent's database is made by its first use.\n--preset is for "
		"agents that speak the Agent Client Protocol: skep agent add c "
		"--preset claude. It makes the\nplaces in your home directory "
		"that "
		"such an agent writes to, where they are missing.",
	.needs = NEEDS_CONTROL_MADE,
	.options = (const struct option_spec[]){AGENT_EDIT_OPTIONS,
						{NULL, NULL, NULL,
						 OPTION_FLAG}},
	.run = agent_add,
};
