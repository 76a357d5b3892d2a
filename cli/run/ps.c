#include "cli/host/daemon.h"
#include "cli/list.h"
#include "cli/run/live_view.h"
#include "schema/control/agent.h"
#include "schema/control/cursor.h"
#include "schema/control/severity.h"
#include "schema/vocab.h"

#define LIMIT 50

static void assess_run(struct cli *cli, void *row)
{
	run_classify_from_outside(row, cli->supervised);
}

/* Runs of all states come from the rows, whether or not a supervisor runs. */
static int list_all(struct cli *cli, struct err *e)
{
	struct run_filter filter = {
		.agent = cli_option(cli, "agent"),
		.state = cli_option(cli, "state"),
		.tag = cli_option(cli, "tag"),
		.invocation = cli_option(cli, "invocation"),
		.count = cli_number(cli, "limit", LIMIT),
	};
	struct cli_list l = {
		.cli = cli,
		.shape = &run_row_shape,
		.columns = "id agent state reason severity attempt last_seq "
			   "created_at ended_at",
		.none = "no runs; 'skep run AGENT PROMPT' starts one",
		.limit = filter.count,
		.prepare = assess_run,
	};

	if (page_before(ID_RUN, cli_option(cli, "before"), &filter.before, e))
		return -1;
	return cli_list_control(&l, LISTS_RUNS, &filter, e);
}

/* An agent that was removed may still have runs. */
static int check_agent(struct cli *cli, struct err *e)
{
	struct run_filter filter = {.agent = cli_option(cli, "agent"),
				    .count = 1};
	struct agent_row agent;
	struct run_row run;
	struct lists it;
	struct err why;
	bool found;

	if (!filter.agent ||
	    !agents_get(cli->control, filter.agent, &agent, &cli->arena, e))
		return 0;
	if (e->code != ERR_NOTFOUND ||
	    page_before(ID_RUN, NULL, &filter.before, &why) ||
	    lists_open(&it, cli->control, LISTS_RUNS, &filter, &why))
		return -1;
	found = lists_next(&it, &run);
	return lists_close(&it, &why) || !found ? -1 : 0;
}

static int ps(struct cli *cli, struct err *e)
{
	struct live_view v = {.agent = cli_option(cli, "agent"),
			      .tag = cli_option(cli, "tag"),
			      .invocation = cli_option(cli, "invocation"),
			      .queued = cli_number(cli, "limit", LIMIT)};

	if (cli->supervised && daemon_in_place(cli, e))
		return -1;
	if (check_agent(cli, e))
		return -1;
	if (cli_flag(cli, "all") || cli_flag(cli, "state") ||
	    cli_flag(cli, "before"))
		return list_all(cli, e);
	if (!cli->supervised)
		return err_set(e, ERR_UNAVAILABLE,
			       "no supervisor is running for %s; 'skep ps "
			       "--all' lists every run",
			       cli->home.root);
	return live_view_print(cli, &v, e);
}

const struct command cmd_ps = {
	.name = "ps",
	.help = "list queued and active runs, or every run with --all",
	.about = "Active runs come first, then workers that are kept idle, "
		 "then the newest queued runs. --state and --before imply "
		 "--all; the other filters do not.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPT_ALL("list every run, newest first"),
		OPTION(WORD, 0, "state", vocab_control_run_state,
		       "list only runs in this state"),
		OPTION(TEXT, 't', "tag", "TAG", "list only runs with this tag"),
		OPT_AGENT("list only runs of this agent"),
		OPTION(TEXT, 0, "invocation", "ID",
		       "list only runs of this invocation"),
		OPTION(TEXT, 0, "before", "RUN",
		       "list only runs older than RUN"),
		OPT_LIMIT("list at most N runs, or without --all at most N "
			  "queued runs (default 50)"),
		OPT_QUIET),
	.run = ps,
};
