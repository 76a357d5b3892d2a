#include "cli/host/daemon.h"

static int down(struct cli *cli, struct err *e)
{
	if (daemon_stop(cli, cli_flag(cli, "now") ? "down-now" : "down", e))
		return -1;
	daemon_print(cli, OPT_NONE, true);
	return 0;
}

const struct command cmd_down = {
	.name = "down",
	.help = "stop the supervisor after the active runs finish",
	.about = "The command returns when the supervisor has stopped. No new "
		 "run starts in the meantime. Queued runs stay in the queue "
		 "until the next 'skep up'.\n"
		 "\n"
		 "If you interrupt the command, the supervisor still stops. "
		 "'skep down --now' in another terminal stops the runs that "
		 "it waits for.",
	.needs = NEEDS_CONFIG | NEEDS_NO_SETTING,
	.options = OPTIONS(
		FLAG(0, "now",
		     "stop the active runs too; they are retried after "
		     "the next 'skep up'")),
	.run = down,
};
