#include "cli/agent/agent_edit.h"

static int show_versions(struct cli *cli, const char *name, struct err *e)
{
	struct sql_rows it = sql_rows(
		cli->control, Q_AGENT_VERSION_LIST,
		&(struct agent_version_list_in){.agent = name});
	struct table *t = table_new(&cli->out, &agent_version_row_shape,
				    "version source created_at digest");
	struct agent_version_row row;
	int n = 0;

	for (; sql_next(&it, &row); n++)
		table_add(t, &row);
	table_end(t);
	if (sql_end(&it, e))
		return -1;
	return n ? 0 : agents_missing(cli->control, name, e);
}

static int show_version(struct cli *cli, const char *name, struct err *e)
{
	struct agent_version_row row;

	if (agent_get_version(cli, name, cli_number(cli, "version", 0), &row,
			      e))
		return -1;
	output_object(&cli->out, &agent_version_row_shape, &row);
	return 0;
}

static int agent_show(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct agent_row row;

	if (!name && agents_get_default(cli->control, &row, &cli->arena, e))
		return -1;
	name = name ? name : row.name;
	if (!cli->supervised &&
	    agents_sync(cli->control, &cli->home, name, e) < 0)
		return -1;
	if (cli_flag(cli, "versions"))
		return show_versions(cli, name, e);
	if (cli_flag(cli, "version"))
		return show_version(cli, name, e);
	return agent_print(cli, name, e);
}

const struct command cmd_agent_show = {
	.name = "agent show",
	.args = "[AGENT]",
	.help = "show an agent",
	.needs = NEEDS_CONTROL_WRITE,
	.arguments = ARGUMENTS(
		{"AGENT", "name of the agent (default: the default agent)"}),
	.options = OPTIONS(
		FLAG(0, "versions", "list all versions of the definition"),
		OPTION(COUNT, 0, "version", "N",
		       "show this version of the definition")),
	.run = agent_show,
};
