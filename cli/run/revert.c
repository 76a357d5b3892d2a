#include "cli/run/run_changes_cli.h"

#include "lib/base/text.h"

static int revert_changes(struct cli *cli, struct run_changes *c, struct err *e)
{
	struct vfs_merge m = {.report = difference_merged, .arg = cli};

	if (cli_confirm_action(cli,
			       arena_printf(&cli->arena,
					    "undo the changes of run %s",
					    cli_arg(cli, 0)),
			       e))
		return -1;
	if (cli_flag(cli, "force"))
		m.strategy = VFS_STRATEGY_FORK;
	if (run_changes_revert(c, run_changes_paths(cli),
			       run_changes_npaths(cli), &m, e)) {
		if (e->code == ERR_CONFLICT)
			err_set(e, ERR_CONFLICT,
				"%lld %s changed after the run, so nothing was "
				"reverted; --force reverts them too",
				(long long)m.conflicts,
				text_plural(m.conflicts, "path was",
					    "paths were"));
		return -1;
	}
	output_note(&cli->out, "%lld %s reverted", (long long)m.applied,
		    text_plural(m.applied, "change", "changes"));
	return 0;
}

static int revert_run(struct cli *cli, struct err *e)
{
	return run_changes_cli(cli, revert_changes, e);
}

const struct command cmd_revert = {
	.name = "revert",
	.args = "RUN [PATH...]",
	.help = "undo what a run changed in its workspace",
	.about = "Each line shows what the command does: A (adds a path "
		 "again), D (deletes it), M (restores its content) or m (its "
		 "mode or owner). A path that was changed after the run is a "
		 "conflict. Conflicts are listed, and nothing is reverted "
		 "unless --force is given.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS({"PATH", "revert only these paths and what is "
					"below them"}),
	.options = OPTIONS(OPT_TURN,
			   FLAG('f', "force",
				"revert paths that were changed "
				"later, too"),
			   OPT_YES("do not ask for confirmation")),
	.run = revert_run,
};
