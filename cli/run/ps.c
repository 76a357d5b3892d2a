#include "cli/host/daemon.h"
#include "cli/list.h"
#include "cli/remote.h"
#include "cli/run/ps_view.h"
#include "schema/control/agent.h"
#include "schema/control/cursor.h"
#include "schema/control/severity.h"
#include "schema/vocab.h"

#define LIMIT 50

static struct cli_list list_of(struct cli *cli, int64_t limit, const char *none)
{
	return (struct cli_list){.cli = cli,
				 .shape = &ps_row_shape,
				 .columns = PS_COLUMNS,
				 .none = none,
				 .limit = limit};
}

static void assess_run(struct cli *cli, void *row)
{
	run_classify_from_outside(row, cli->supervised);
}

/* With --json, the complete rows. */
static int list_complete_rows(struct cli *cli, const struct run_filter *filter,
			      struct err *e)
{
	struct cli_list l = {.cli = cli,
			     .shape = &run_row_shape,
			     .columns = "id",
			     .prepare = assess_run};

	return cli_list_control(&l, LISTS_RUNS, filter, e);
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
	struct cli_list l = list_of(cli, filter.count,
				    "no runs; 'skep run AGENT PROMPT' starts "
				    "one");
	struct run_row row;
	struct lists it;

	if (page_before(ID_RUN, cli_option(cli, "before"), &filter.before, e))
		return -1;
	if (cli->out.json)
		return list_complete_rows(cli, &filter, e);
	if (lists_open(&it, cli->control, LISTS_RUNS, &filter, e))
		return -1;
	while (lists_next(&it, &row)) {
		struct ps_row shown;

		assess_run(cli, &row);
		shown = ps_row_of(&row);
		cli_list_add(&l, &shown);
	}
	if (lists_close(&it, e))
		return -1;
	cli_list_end(&l);
	return 0;
}

struct active_list {
	struct cli_list list;
	int64_t left;
};

static void add_active(void *arg, struct ps_row *row)
{
	struct active_list *l = arg;

	if (l->left-- > 0)
		cli_list_add(&l->list, row);
}

static int list_active(struct cli *cli, struct err *e)
{
	struct ps_filter f = {.agent = cli_option(cli, "agent"),
			      .tag = cli_option(cli, "tag"),
			      .invocation = cli_option(cli, "invocation"),
			      .queued = cli_number(cli, "limit", LIMIT)};
	struct active_list l = {
		.list = list_of(cli, 0,
				"no queued or active runs; 'skep ps --all' "
				"lists every run"),
		.left = f.queued,
	};

	if (cli->out.json)
		return remote_print_first(cli, ps_path(cli, &f), f.queued, e);
	if (ps_active(cli, &f, add_active, &l, e))
		return -1;
	cli_list_end(&l.list);
	if (l.left < 0 && l.list.format == LIST_TABLE)
		fprintf(stderr, "%lld more; --limit lists them\n",
			(long long)-l.left);
	return 0;
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
	return list_active(cli, e);
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
		OPT_LIMIT("list at most N runs (default 50)"), OPT_LIST),
	.run = ps,
};
