#include "cli/run/live_view.h"

#include <poll.h>
#include <unistd.h>

#define CLEAR "\033[H\033[J"

static int top(struct cli *cli, struct err *e)
{
	bool once = cli->out.json || !isatty(cli->out.fd);
	int64_t every = cli_number(cli, "interval", 1000);
	struct live_view v = {.queued = 0};

	do {
		if (!once)
			fputs(CLEAR, cli->out.to);
		if (live_view_print(cli, &v, e) || output_end(&cli->out, e))
			return -1;
		if (!once)
			poll(NULL, 0, (int)(every < 100 ? 100 : every));
	} while (!once && !ferror(cli->out.to));
	return 0;
}

const struct command cmd_top = {
	.name = "top",
	.help = "show active runs and refresh the table until "
		"interrupted",
	.about = "If standard output is not a terminal, the table is "
		 "printed once.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(OPTION(MILLIS, 'd', "interval", "TIME",
				  "time between two refreshes (default 1s)")),
	.run = top,
};
