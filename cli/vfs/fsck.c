#include "cli/vfs/vfs_cli.h"

#include "vfs/check/check.h"

#define DAMAGE(F, S) F(S, text, damage) F(S, i64, count)
SHAPE_DECLARE(vfs_damage, DAMAGE);
SHAPE_DEFINE(vfs_damage, DAMAGE);

#define CHECKED(F, S) F(S, i64, found) F(S, i64, repaired)
SHAPE_DECLARE(vfs_checked, CHECKED);
SHAPE_DEFINE(vfs_checked, CHECKED);

static void print_fsck_progress(void *arg, const char *what, int64_t count)
{
	struct cli *cli = arg;
	struct vfs_damage row = {what, count};

	if (cli->out.json)
		output_object(&cli->out, &vfs_damage_shape, &row);
	else
		output_note(&cli->out, "%lld %s", (long long)count, what);
}

static int run_vfs_fsck(struct cli *cli, struct err *e)
{
	struct vfs_check c = {.repair = cli_flag(cli, "repair"),
			      .deep = cli_flag(cli, "deep"),
			      .report = print_fsck_progress,
			      .arg = cli};

	if (vfs_check(cli->agent.db, &c, e))
		return -1;
	if (c.found && !c.repair)
		return err_set(e, ERR_CORRUPT,
			       "the namespaces of agent '%s' have %lld faults; "
			       "--repair repairs them",
			       cli->agent_name, (long long)c.found);
	output_result(&cli->out, &vfs_checked_shape,
		      &(struct vfs_checked){c.found, c.repaired},
		      c.found ? "repaired all faults in the namespaces of "
				"agent %s"
			      : "no faults in the namespaces of agent %s",
		      cli->agent_name);
	return 0;
}

const struct command cmd_vfs_fsck = {
	.name = "vfs fsck",
	.args = "NAMESPACE",
	.help = "check the file trees of an agent for damage",
	.about = "All namespaces of the agent are checked. --repair moves "
		 "files without a name to lost+found.",
	.needs = NEEDS_AGENT_FILE | NEEDS_AGENT_WORD,
	.options = OPTIONS(
		FLAG(0, "repair", "repair the damage"),
		FLAG(0, "deep", "read the content of all files too")),
	.run = run_vfs_fsck,
};
