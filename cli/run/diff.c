#include "cli/run/run_changes_cli.h"

static int diff_changes(struct cli *cli, struct run_changes *c, struct err *e)
{
	const char *const *paths = run_changes_paths(cli);
	int n = run_changes_npaths(cli);
	struct difference_view view = {.cli = cli,
				       .from = {.v = c->from},
				       .to = {.v = c->to},
				       .text = difference_wants_patch(cli)};

	return run_changes_list(c, paths, n, difference_print, &view, e);
}

static int diff_run(struct cli *cli, struct err *e)
{
	return run_changes_cli(cli, diff_changes, e);
}

const struct command cmd_diff = {
	.name = "diff",
	.args = "RUN [PATH...]",
	.help = "show what a run changed in its workspace",
	.about = "Each line starts with A (added), D (deleted), M (modified) "
		 "or m (mode or owner changed). Of a run that works, it shows "
		 "the changes so far. A workspace in a host directory has no "
		 "snapshots, so its changes are not known.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS({"PATH", "show only these paths and what is "
					"below them"}),
	.options = OPTIONS(OPT_TURN, OPT_PATCH),
	.run = diff_run,
};
