#include "cli/run/event_view.h"
#include "cli/run/fold_view.h"
#include "cli/run/run_select.h"
#include "cli/run/run_view.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct log_view {
	struct cli *cli;
	struct fold_view fold;
	bool full;         /* every event, with its body */
	int64_t since;     /* ms, 0: everything */
	int64_t since_seq; /* the first event after that time */
	bool several;      /* runs: each has a heading */
};

static int print_log_item(void *arg, const struct tail *t,
			  const struct tail_item *item)
{
	struct log_view *v = arg;

	(void)t;
	if (v->since && item->event && item->event->at < v->since)
		return 0;
	if (v->since && item->event && v->since_seq == INT64_MAX)
		v->since_seq = item->seq;
	if (v->since && item->part && item->seq < v->since_seq)
		return 0;
	if (v->full)
		event_print_new(v->cli, item);
	else
		fold_item(&v->fold, item);
	return 0;
}

static void print_heading(struct log_view *v, const struct run_row *row)
{
	char at[CLOCK_TEXT];

	if (!v->several || v->fold.raw || v->cli->out.json)
		return;
	clock_text(row->created_at, at);
	output_label(&v->cli->out, STYLE_HEAD, "==>", "%s  %s  %s  %.10s %.8s",
		     row->id, row->agent, row->state, at, at + 11);
}

static int print_run(struct log_view *v, const char *id, bool follow,
		     struct err *e)
{
	struct run_view view = {
		.id = id,
		.after = cli_option(v->cli, "after"),
		.follow = follow,
		.print = print_log_item,
		.print_arg = v,
	};
	struct run_row row;

	if (run_view_get(v->cli, id, &row, e))
		return -1;
	print_heading(v, &row);
	v->since_seq = v->since ? INT64_MAX : 0;
	v->fold.ncalls = 0;
	if (run_view_print(v->cli, &view, e))
		return -1;
	fold_end_line(&v->fold);
	return 0;
}

/* --- --tail: the last lines --------------------------------------------- */

/* Prints everything that exists now into memory, and the end of it. */
static int print_last_lines(struct log_view *v, const struct run_ids *runs,
			    struct err *e)
{
	struct cli *cli = v->cli;
	FILE *to = cli->out.to;
	char *text = NULL;
	const char *from;
	size_t n = 0;
	int rc = 0;

	cli->out.to = open_memstream(&text, &n);
	if (!cli->out.to)
		abort();
	for (int i = 0; rc == 0 && i < runs->n; i++)
		rc = print_run(v, runs->id[i], false, e);
	(void)fclose(cli->out.to);
	cli->out.to = to;
	if (rc == 0) {
		from = text_last_lines(text, n, cli_number(cli, "tail", 0));
		fwrite(from, 1, n - (size_t)(from - text), to);
	}
	free(text);
	return rc;
}

/* --- the command -------------------------------------------------------- */

static int print_runs(struct log_view *v, const struct run_ids *runs,
		      struct err *e)
{
	bool follow = cli_flag(v->cli, "follow");

	for (int i = 0; i < runs->n; i++)
		if (print_run(v, runs->id[i], follow && i + 1 == runs->n, e))
			return -1;
	return 0;
}

static int check_options(struct cli *cli, struct err *e)
{
	if (cli_flag(cli, "follow") && cli_option(cli, "tail"))
		return err_set(e, ERR_USAGE,
			       "--tail cannot be combined with --follow; "
			       "--since can");
	if (cli_flag(cli, "raw") && (cli_flag(cli, "verbose") || cli->out.json))
		return err_set(e, ERR_USAGE,
			       "--raw cannot be combined with --verbose or "
			       "--json");
	return 0;
}

static int logs(struct cli *cli, struct err *e)
{
	bool raw = cli_flag(cli, "raw");
	struct log_view v = {
		.cli = cli,
		.fold = {.cli = cli,
			 .raw = raw,
			 .notes = !raw,
			 .prompts = !raw},
		.full = cli_flag(cli, "verbose") || cli->out.json,
	};
	struct run_ids runs;

	if (check_options(cli, e) ||
	    run_select(cli, cli->args.nwords, NULL, &runs, e))
		return -1;
	if (cli_option(cli, "since"))
		v.since = clock_now() - cli_number(cli, "since", 0);
	v.several = runs.n > 1;
	return cli_option(cli, "tail") ? print_last_lines(&v, &runs, e)
				       : print_runs(&v, &runs, e);
}

const struct command cmd_logs = {
	.name = "logs",
	.args = "[RUN...]",
	.help = "print the output of runs",
	.about = "Text is printed as the agent writes it, and each tool call "
		 "as one line with its result. --verbose prints every event "
		 "with its content, --raw only the text. --follow continues "
		 "across a restart of the supervisor.\n"
		 "\n"
		 "Examples:\n"
		 "  skep logs coder -f           the newest run of an agent\n"
		 "  skep logs last --tail 20\n"
		 "  skep logs --agent coder --since 1h",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPT_FOLLOW("continue until the run ends; of several runs, the "
			   "newest"),
		FLAG('v', "verbose", "print every event with its content"),
		FLAG(0, "raw",
		     "print only the text of the agent, byte for byte"),
		OPTION(COUNT, 0, "tail", "N", "print only the last N lines"),
		OPTION(MILLIS, 0, "since", "TIME",
		       "print only events of the last TIME, such as 10m"),
		RUN_SELECT_OPTIONS,
		OPTION(TEXT, 0, "after", "CURSOR",
		       "start after this cursor, as printed with --json")),
	.run = logs,
};
