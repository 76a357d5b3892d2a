#include "cli/run/live_view.h"

#include <poll.h>
#include <unistd.h>

#define CLEAR "\033[H\033[J"

static int top(struct cli *cli, struct err *e)
{
	bool once = cli->out.json || !isatty(cli->out.fd);
	int64_t every = cli_number(cli, "every", 1000);

	do {
		if (!once)
			fputs(CLEAR, cli->out.to);
		if (live_view_print(cli, e) || output_end(&cli->out, e))
			return -1;
		if (!once)
			poll(NULL, 0, (int)(every < 100 ? 100 : every));
	} while (!once && !ferror(cli->out.to));
	return 0;
}

const struct command cmd_top = {
	.name = "top",
	.help = "show what runs now, again and again until interrupted",
	.about = "Into a pipe it prints the table once.",
	.needs = NEEDS_SUPERVISOR,
	.options = (const struct option_spec[]){{"every", "TIME",
						 "between two looks (1s)",
						 OPTION_MILLIS},
						{NULL, NULL, NULL,
						 OPTION_FLAG}},
	.run = top,
};
