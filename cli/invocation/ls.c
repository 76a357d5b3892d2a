#include "cli/list.h"
#include "schema/control/severity.h"

#include <string.h>

/* The health of an invocation depends on its active runs; the others are
 * counted. */
static int set_invocation_states(struct cli *cli, struct invocation_row *rows,
				 int n, struct err *e)
{
	struct sql_rows it = sql_rows(cli->control, Q_RUN_LIST_ACTIVE, NULL);
	struct run_row run;

	for (int i = 0; i < n; i++)
		invocation_classify(&rows[i], NULL);
	while (sql_next(&it, &run)) {
		if (!run.invocation)
			continue;
		run_classify_from_outside(&run, cli->supervised);
		for (int i = 0; i < n; i++)
			if (!strcmp(run.invocation, rows[i].invocation))
				invocation_classify(&rows[i], &run);
	}
	return sql_end(&it, e);
}

static int invocation_ls(struct cli *cli, struct err *e)
{
	struct invocation_list_in in = {"~", cli_number(cli, "limit", 50)};
	struct cli_list l = {
		.cli = cli,
		.shape = &invocation_row_shape,
		.columns = "invocation sessions runs waiting active succeeded "
			   "failed health severity created_at ended_at",
		.none = "no invocations; 'skep run --invocation ID' starts one",
	};
	struct invocation_row *rows;
	int n = sql_collect(cli->control, Q_INVOCATION_LIST, &in, (int)in.count,
			    &rows, &cli->arena, e);

	if (n < 0 || set_invocation_states(cli, rows, n, e))
		return -1;
	for (int i = 0; i < n; i++)
		cli_list_add(&l, &rows[i]);
	cli_list_end(&l);
	return 0;
}

const struct command cmd_invocation_ls = {
	.name = "invocation ls",
	.help = "list invocations with their number of runs and "
		"worst severity",
	.about = "Runs share an invocation through 'skep run "
		 "--invocation ID', and child runs inherit it from "
		 "their parent. 'skep ps --invocation ID' lists the "
		 "runs of an invocation.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_LIMIT("list at most N invocations (default 50)"),
			   OPT_LIST),
	.run = invocation_ls,
};
