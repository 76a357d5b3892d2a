#include "cli/cli.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/event.h"
#include "vfs/marker/session_files.h"

#include <inttypes.h>

/* SEQ is an argument, or the value of --to. */
static int read_seq(struct cli *cli, int64_t *seq, struct err *e)
{
	const char *word = cli_arg(cli, 1), *to = cli_option(cli, "to");

	if (!word == !to)
		return err_set(e, ERR_USAGE,
			       "give one SEQ: an argument or --to");
	return text_i64("SEQ", word ? word : to, 0, EVENT_SEQ_MAX, seq, e);
}

static int rewind_to(struct cli *cli, struct err *e)
{
	const char *key = cli_arg(cli, 0);
	int64_t seq;

	if (read_seq(cli, &seq, e))
		return -1;
	if (cli_flag(cli, "files")
		    ? session_rewind_files(&cli->agent, key, seq,
					   cli_flag(cli, "force"), e)
		    : session_rewind(&cli->agent, key, seq, e))
		return -1;
	return cli_print_session(
		cli, key,
		arena_printf(&cli->arena,
			     "rewound session %s to event %" PRId64
			     "; 'skep session restore' undoes this",
			     key, seq),
		e);
}

const struct command cmd_session_rewind = {
	.name = "session rewind",
	.args = "SESSION [SEQ]",
	.help = "hide all events after SEQ; 'session restore' undoes "
		"this",
	.about = "With --files, the workspace of the session goes back to the "
		 "same point: to the last turn that was over at SEQ. Both "
		 "happen in one transaction. If files were changed since by "
		 "a run of another session, or by you, the command fails "
		 "unless --force is given; 'session restore' brings these "
		 "changes back, too.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(
		OPTION(INT, 0, "to", "SEQ", "the same as the argument SEQ"),
		FLAG(0, "files", "move the workspace to the same point, too"),
		FLAG('f', "force",
		     "also undo changes of the workspace by runs of other "
		     "sessions, and those that no run has made")),
	.run = rewind_to,
};
