#include "cli/cli.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/event.h"

static int rewind_to(struct cli *cli, struct err *e)
{
	int64_t seq;

	if (text_i64("SEQ", cli_arg(cli, 1), 0, EVENT_SEQ_MAX, &seq, e) ||
	    session_rewind(&cli->agent, cli_arg(cli, 0), seq, e))
		return -1;
	return cli_print_session(cli, cli_arg(cli, 0), e);
}

const struct command cmd_session_rewind = {
	.name = "session rewind",
	.args = "SESSION SEQ",
	.help = "hide all events after SEQ; 'session restore' undoes "
		"this",
	.needs = NEEDS_AGENT_FILE,
	.run = rewind_to,
};
