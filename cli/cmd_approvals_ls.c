#include "cli/cli.h"

static int approvals_ls(struct cli *cli, struct err *e)
{
	struct approval_list_in in = {
		.state = cli_flag(cli, "all") ? NULL : "open",
		.run = cli_option(cli, "run"),
		.before = "~",
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it = sql_rows(cli->control, Q_APPROVAL_LIST, &in);
	struct table *t = table_new(&cli->out, &approval_row_shape,
				    "id state run agent title asked_at");
	struct approval_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_approvals_ls = {
	.name = "approvals ls",
	.help = "list questions that wait for an answer",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"all", NULL, "answered ones too", OPTION_FLAG},
			{"run", "ID", "only those of this run", OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = approvals_ls,
};
