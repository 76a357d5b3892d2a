#include "cli/cli.h"
#include "schema/control/severity.h"

#include <string.h>

/* The live runs of each, judged, decide how it is; the rest are counted. */
static int set_invocation_states(struct cli *cli, struct invocation_row *rows,
				 int n, struct err *e)
{
	struct sql_rows it = sql_rows(cli->control, Q_RUN_LIST_LIVE, NULL);
	struct run_row run;

	for (int i = 0; i < n; i++)
		invocation_judge(&rows[i], NULL);
	while (sql_next(&it, &run)) {
		if (!run.invocation)
			continue;
		run_judge_from_outside(&run, cli->supervised);
		for (int i = 0; i < n; i++)
			if (!strcmp(run.invocation, rows[i].invocation))
				invocation_judge(&rows[i], &run);
	}
	return sql_end(&it, e);
}

static int invocations(struct cli *cli, struct err *e)
{
	struct invocation_list_in in = {"~", cli_number(cli, "limit", 50)};
	struct invocation_row *rows;
	struct table *t;
	int n = sql_collect(cli->control, Q_INVOCATION_LIST, &in, (int)in.count,
			    &rows, &cli->arena, e);

	if (n < 0 || set_invocation_states(cli, rows, n, e))
		return -1;
	t = table_new(&cli->out, &invocation_row_shape,
		      "invocation sessions runs waiting live succeeded failed "
		      "health severity created_at ended_at");
	for (int i = 0; i < n; i++)
		table_add(t, &rows[i]);
	table_end(t);
	return 0;
}

const struct command cmd_invocations = {
	.name = "invocations",
	.help = "list runs that belong together, and how the worst is",
	.about =
		"Runs share an invocation by 'skep run --invocation ID', and "
		"with the run that is their parent.\n'skep ps --invocation ID' "
		"lists the runs of one.",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"limit", "N", "at most so many (50)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = invocations,
};
