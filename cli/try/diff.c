#include "cli/try/try_view.h"
#include "cli/vfs/difference_view.h"
#include "schema/control/registry.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"

/* One side: the fork of a trial, in the file of its agent. */
struct side {
	struct agent_file file;
	struct vfs *v;
};

static int open_side(struct cli *cli, const struct trial_row *t, const char *at,
		     struct side *out, struct err *e)
{
	struct agent_database_row row;
	int found;

	if (!t->has_fork)
		return err_set(e, ERR_NOTFOUND,
			       "trial %lld has no files: its fork was deleted, "
			       "or its run never started",
			       (long long)t->number);
	found = registry_find(cli->control, t->agent, &row, &cli->arena, e);
	if (found <= 0)
		return found < 0
			       ? -1
			       : err_set(e, ERR_NOTFOUND,
					 "agent %s has no database", t->agent);
	if (registry_open(&row, 0, &out->file, e))
		return -1;
	return vfs_open(&out->v, out->file.db,
			arena_printf(&cli->arena, "%s%s", t->fork, at), "cli",
			e);
}

static void close_side(struct side *s)
{
	vfs_close(s->v);
	if (s->file.db)
		agent_file_close(&s->file);
}

static int try_diff(struct cli *cli, struct err *e)
{
	const char *other = cli_arg(cli, 2);
	struct experiment_row row;
	struct trial_row a, b;
	struct difference_view view = {.cli = cli,
				       .text = difference_wants_patch(cli)};
	struct side from = {0}, to = {0};
	int rc;

	if (try_get(cli, cli_arg(cli, 0), &row, e) ||
	    try_get_trial(cli, row.id, cli_arg(cli, 1), &a, e) ||
	    (other && try_get_trial(cli, row.id, other, &b, e)))
		return -1;
	rc = open_side(cli, &a, other ? "" : "@" VFS_FORK_POINT, &from, e);
	if (rc == 0)
		rc = open_side(cli, other ? &b : &a, "", &to, e);
	view.from.v = from.v;
	view.to.v = to.v;
	if (rc == 0)
		rc = vfs_diff(&view.from, &view.to, difference_print, &view, e);
	close_side(&from);
	close_side(&to);
	return rc;
}

const struct command cmd_try_diff = {
	.name = "try diff",
	.args = "EXPERIMENT TRIAL [OTHER]",
	.help = "show what a trial changed, or how two trials differ",
	.about = "Each line starts with A (added), D (deleted), M "
		 "(modified) or m (mode or owner changed).",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(TRY_EXPERIMENT,
			       {"TRIAL", "number of a trial; 'skep try show' "
					 "prints it"},
			       {"OTHER", "number of another trial to compare "
					 "it with (default: the start)"}),
	.options = OPTIONS(OPT_PATCH),
	.run = try_diff,
};
