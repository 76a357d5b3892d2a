#include "cli/run/event_view.h"

#include "schema/agent/transcript/session.h"
#include "schema/agent/watch.h"

#include <inttypes.h>

#define LAST 10

static int print_item(void *arg, const struct tail *t,
		      const struct tail_item *item)
{
	(void)t;
	event_print_new(arg, item);
	return 0;
}

/* The start position: the given cursor, or a number of events from the end. */
static int first_cursor(struct cli *cli, const char **out, struct err *e)
{
	struct session_row row;
	struct history h;
	int64_t from;

	*out = cli_option(cli, "after");
	if (*out)
		return 0;
	if (session_need(&cli->agent, cli_arg(cli, 0), &row, &cli->arena, e) ||
	    history_load(&cli->agent, row.id, HISTORY_LOG, &h, &cli->arena, e))
		return -1;
	from = history_last(&h) - cli_number(cli, "limit", LAST);
	*out = arena_printf(&cli->arena, "%" PRId64, from > 0 ? from : 0);
	return 0;
}

/* With --follow, runs until stdout is closed or the user interrupts it. */
static int read_on(struct cli *cli, struct tail *t, struct follow *f,
		   struct err *e)
{
	int more;

	do {
		more = tail_read(t, &cli->agent, print_item, cli, e);
		if (more < 0 || output_end(&cli->out, e))
			return -1;
		if (more == 0 && f && follow_wait(f, -1, e) < 0)
			return -1;
	} while ((more > 0 || f) && !ferror(cli->out.to));
	return 0;
}

static int session_tail(struct cli *cli, struct err *e)
{
	struct tail_options want = {.session = cli_arg(cli, 0),
				    .run = cli_option(cli, "run")};
	struct follow f;
	struct tail *t;
	int rc;

	if (first_cursor(cli, &want.after, e) || tail_open(&t, &want, e))
		return -1;
	if (!cli_flag(cli, "follow")) {
		rc = read_on(cli, t, NULL, e);
	} else {
		/* watch before the first read, so that no commit is missed */
		rc = follow_open(&f, sql_path(cli->agent.db), e);
		if (!rc) {
			rc = read_on(cli, t, &f, e);
			follow_close(&f);
		}
	}
	tail_close(t);
	return rc;
}

const struct command cmd_session_tail = {
	.name = "session tail",
	.args = "SESSION",
	.help = "print the last events of a session",
	.about = "Events are printed in the order in which they were "
		 "written, and streamed messages as they grow.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(
		OPT_FOLLOW("continue until interrupted"),
		OPTION(INT, 'n', "limit", "N",
		       "start N events before the end (default 10)"),
		OPTION(TEXT, 0, "after", "CURSOR",
		       "start after this cursor, as printed with --json"),
		OPTION(TEXT, 0, "run", "RUN", "print only events of this run")),
	.run = session_tail,
};
