#include "cli/cli.h"

#include "schema/agent/transcript/branch.h"
#include "vfs/marker/session_files.h"

static int restore(struct cli *cli, struct err *e)
{
	const char *key = cli_arg(cli, 0);

	if (cli_flag(cli, "transcript")
		    ? session_restore(&cli->agent, key, e)
		    : session_restore_files(&cli->agent, key,
					    cli_flag(cli, "force"), e))
		return -1;
	return cli_print_session(
		cli, key,
		arena_printf(&cli->arena, "undid the last rewind of session %s",
			     key),
		e);
}

const struct command cmd_session_restore = {
	.name = "session restore",
	.args = "SESSION",
	.help = "undo the last rewind",
	.about = "If the rewind has moved the workspace, the files come back, "
		 "too. A path that was changed since is a conflict; then "
		 "nothing is restored.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(
		FLAG(0, "transcript", "restore only the events, not the files"),
		FLAG('f', "force",
		     "discard changes of files since the rewind")),
	.run = restore,
};
