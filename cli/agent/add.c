#include "cli/agent/agent_edit.h"

static int refuse_known(struct cli *cli, const char *name, struct err *e)
{
	struct agent_row row;
	struct err none;

	if (agents_get(cli->control, name, &row, &cli->arena, &none))
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "agent '%s' already exists; 'skep agent set' "
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
	if (agent_check_place(cli, &row, e) || agent_store(cli, &row, e))
		return -1;
	return agent_print_stored(cli, row.name, "added", e);
}

const struct command cmd_agent_add = {
	.name = "agent add",
	.args = "AGENT [COMMAND...]",
	.help = "define an agent",
	.about = "The first agent becomes the default agent. The database of "
		 "an agent is created on first use. 'skep agent show' prints "
		 "the definition, and 'skep agent test' tests it.\n"
		 "\n"
		 "COMMAND is the program that the driver executes; it is "
		 "stored as config.command in the definition. --set and --from "
		 "set the other members; 'skep agent explain' describes all of "
		 "them.\n"
		 "\n"
		 "A command or an argument that names a file in the current "
		 "directory is stored with its absolute path. With --path, the "
		 "runs work in that directory, and the command stays relative "
		 "to it.\n"
		 "\n"
		 "--preset configures an agent that speaks the Agent Client "
		 "Protocol. It creates the files and directories in your home "
		 "directory that this agent writes to.\n"
		 "\n"
		 "Examples:\n"
		 "  skep agent add echo --driver exec --set config.stdin=text "
		 "-- cat\n"
		 "  skep agent add tests --driver exec --path . -- make test\n"
		 "  skep agent add claude --preset claude",
	.needs = NEEDS_CONTROL_MADE,
	.arguments = ARGUMENTS(
		{"AGENT", "name of the new agent: letters, digits, '-', '_' "
			  "and '.'"}),
	.options = OPTIONS(AGENT_EDIT_OPTIONS),
	.run = agent_add,
};
