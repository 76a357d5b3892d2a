#include "cli/host/daemon.h"

/* A supervisor that does not run is what was asked for, unless the home has a
 * problem. */
static int report_down(struct cli *cli, struct err *e)
{
	bool ended = daemon_end_watchdog(cli);

	if (!ended && daemon_absent(cli, e) && e->code != ERR_UNAVAILABLE)
		return -1;
	daemon_print(cli, OPT_NONE, ended);
	return 0;
}

static int down(struct cli *cli, struct err *e)
{
	struct err ignored;

	if (home_is_locked(&cli->home, &ignored) != 1)
		return report_down(cli, e);
	if (daemon_stop(cli, cli_flag(cli, "now") ? "down-now" : "down",
			cli_number(cli, "timeout", 0), e))
		return -1;
	daemon_print(cli, OPT_NONE, true);
	return 0;
}

const struct command cmd_down = {
	.name = "down",
	.help = "stop the supervisor after the active runs finish",
	.about = "The command names the runs that it waits for, and returns "
		 "when the supervisor has stopped. No new run starts in the "
		 "meantime. Queued runs stay in the queue until the next 'skep "
		 "up'.\n"
		 "\n"
		 "Ctrl-C takes the request back: the supervisor continues as "
		 "before. If no supervisor is running, the command succeeds.",
	.needs = NEEDS_CONFIG | NEEDS_NO_SETTING,
	.options = OPTIONS(
		FLAG(0, "now",
		     "stop the active runs too; they are retried after "
		     "the next 'skep up'"),
		OPTION(MILLIS, 0, "timeout", "TIME",
		       "stop the active runs after this time, as with --now")),
	.run = down,
};
