#include "cli/agent/agent_edit.h"

#include "cli/remote.h"
#include "lib/base/text.h"
#include "schema/control/registry.h"

#include <limits.h>
#include <stdlib.h>

static int move_file(struct cli *cli, void *name, struct err *e)
{
	return registry_move(cli->control, name, cli_option(cli, "file"), e);
}

/* The supervisor may have another working directory. */
static int set_file(struct cli *cli, void *name, struct err *e)
{
	const char *path = cli_option(cli, "file");
	struct cli_act act = {.method = "POST",
			      .path = agent_url(cli, name, "/move"),
			      .direct = move_file,
			      .arg = name};
	char full[PATH_MAX];

	if (!realpath(path, full))
		return err_errno_set(e, "%s", quoted(path).text);
	act.body = remote_text(cli, "path", full);
	return cli_act(cli, &act, e);
}

static int agent_set(struct cli *cli, struct err *e)
{
	struct agent_row row;
	int64_t was;
	bool was_default;
	char *name = arena_text(&cli->arena, cli_arg(cli, 0));

	if (cli_flag(cli, "enable") && cli_flag(cli, "disable"))
		return err_set(e, ERR_USAGE,
			       "--enable and --disable cannot be used "
			       "together");
	if (!cli->supervised &&
	    agents_sync(cli->control, &cli->home, name, e) < 0)
		return -1;
	if (agents_get(cli->control, name, &row, &cli->arena, e) ||
	    agent_edit(cli, &row, e) || agent_refuse_files(cli, &row, e) ||
	    agent_check_place(cli, &row, e))
		return -1;
	was = row.version;
	was_default = row.is_default;
	row.source = "command";
	row.is_default = row.is_default || cli_flag(cli, "default");
	if ((cli_flag(cli, "file") && set_file(cli, name, e)) ||
	    agent_store(cli, &row, e))
		return -1;
	if (agents_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	return agent_print_stored(
		cli, name,
		row.version != was || row.is_default != was_default ||
				cli_flag(cli, "file")
			? "changed"
			: "unchanged",
		e);
}

const struct command cmd_agent_set = {
	.name = "agent set",
	.args = "AGENT [COMMAND...]",
	.help = "change an agent; each change creates a version",
	.about = "To change an agent that is defined in "
		 "agents/AGENT/agent.json or prompt.md, edit these files. The "
		 "new definition takes effect on the next use.",
	.needs = NEEDS_CONTROL_WRITE,
	.arguments = ARGUMENTS(
		{"COMMAND",
		 "new program for the driver, with its arguments; put "
		 "-- before it"}),
	.options = OPTIONS(
		AGENT_EDIT_OPTIONS,
		OPTION(MANY, 0, "unset", "KEY",
		       "remove a member of the definition; may be repeated"),
		FLAG(0, "enable", "allow runs of this agent"),
		FLAG(0, "disable", "reject new runs of this agent"),
		FLAG(0, "default", "make this the default agent"),
		OPTION(FILE, 0, "file", "PATH",
		       "record that the database of the agent was moved to "
		       "PATH")),
	.run = agent_set,
};
