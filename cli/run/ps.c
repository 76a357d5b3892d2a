#include "cli/host/daemon.h"
#include "cli/page.h"
#include "cli/run/live_view.h"
#include "schema/control/cursor.h"
#include "schema/control/lists.h"
#include "schema/control/severity.h"
#include "schema/vocab.h"

/* Runs of all states come from the rows, whether or not a supervisor runs. */
static int list_all(struct cli *cli, struct err *e)
{
	struct page page = page_begin(cli, 50);
	struct run_filter filter = {
		.agent = cli_option(cli, "agent-name"),
		.state = cli_option(cli, "state"),
		.tag = cli_option(cli, "tag"),
		.invocation = cli_option(cli, "invocation"),
		.count = page.limit,
	};
	struct lists it;
	struct table *t;
	struct run_row row;

	if (page_before(ID_RUN, cli_option(cli, "before"), &filter.before, e) ||
	    lists_open(&it, cli->control, LISTS_RUNS, &filter, e))
		return -1;
	t = table_new(&cli->out, &run_row_shape,
		      "id agent state reason severity attempt last_seq "
		      "created_at ended_at");
	while (lists_next(&it, &row)) {
		run_judge_from_outside(&row, cli->supervised);
		table_add(t, &row);
		page_row(&page, "%s", row.id);
	}
	table_end(t);
	page_end(cli, &page);
	return lists_close(&it, e);
}

static int ps(struct cli *cli, struct err *e)
{
	bool filter = cli_option(cli, "state") || cli_option(cli, "tag") ||
		      cli_option(cli, "agent-name") ||
		      cli_option(cli, "invocation") ||
		      cli_option(cli, "before");

	if (cli->supervised && daemon_in_place(cli, e))
		return -1;
	if (cli_flag(cli, "all") || filter)
		return list_all(cli, e);
	if (!cli->supervised)
		return err_set(e, ERR_UNAVAILABLE,
			       "no supervisor runs for %s: 'skep ps --all' "
			       "lists what there was",
			       cli->home.root);
	return live_view_print(cli, e);
}

const struct command cmd_ps = {
	.name = "ps",
	.help = "list what runs now, or with --all every run",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"all", NULL, "runs that are over or wait too",
			 OPTION_FLAG},
			{"state", vocab_control_run_state,
			 "only runs in this state", OPTION_WORD},
			{"tag", "TAG", "only runs with this tag", OPTION_TEXT},
			{"agent-name", "NAME", "only runs of this agent",
			 OPTION_NAME},
			{"invocation", "ID", "only runs of this invocation",
			 OPTION_TEXT},
			{"before", "RUN", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (50)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = ps,
};
