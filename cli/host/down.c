#include "cli/host/daemon.h"

static int down(struct cli *cli, struct err *e)
{
	if (daemon_stop(cli, cli_flag(cli, "now") ? "down-now" : "down", e))
		return -1;
	output_note(&cli->out, "skepd has stopped");
	return 0;
}

const struct command cmd_down = {
	.name = "down",
	.help = "stop the supervisor after the active runs finish",
	.about = "No new run starts in the meantime. Queued runs stay "
		 "in the queue until the next 'skep up'.",
	.needs = NEEDS_CONFIG | NEEDS_NO_SETTING,
	.options = OPTIONS(
		FLAG(0, "now",
		     "stop the active runs too; they are retried after "
		     "the next 'skep up'")),
	.run = down,
};
