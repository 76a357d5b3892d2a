#include "cli/host/daemon.h"

static int down(struct cli *cli, struct err *e)
{
	if (daemon_stop(cli, cli_flag(cli, "now") ? "down-now" : "down", e))
		return -1;
	output_note(&cli->out, "skepd is down");
	return 0;
}

const struct command cmd_down = {
	.name = "down",
	.help = "let the supervisor go when the last run is over",
	.about = "Nothing new is started meanwhile; what waits in the queue is "
		 "there at\n"
		 "the next start.",
	.needs = NEEDS_CONFIG,
	.options =
		(const struct option_spec[]){
			{"now", NULL,
			 "stop what runs; it is run again at the next start",
			 OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = down,
};
