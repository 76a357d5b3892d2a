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
	return n ? 0 : err_set(e, ERR_NOTFOUND, "there is no agent '%s'", name);
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
	return agent_print(cli, name, e);
}

const struct command cmd_agent_show = {
	.name = "agent show",
	.args = "[NAME]",
	.help = "show an agent, or the default one",
	.needs = NEEDS_CONTROL_WRITE,
	.options =
		(const struct option_spec[]){
			{"versions", NULL,
			 "list every definition that it ever had", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = agent_show,
};
