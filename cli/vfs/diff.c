#include "cli/vfs/vfs_cli.h"

#include "cli/vfs/difference_view.h"

#include <string.h>

static int open_snapshot(struct cli *cli, struct vfs *v, const char *name,
			 struct diff_source *out, struct err *e)
{
	const char *full = arena_printf(&cli->arena, "%s@%s", vfs_name(v),
					name);

	return vfs_open(&out->v, cli->agent.db, full, "cli", e);
}

/* The side that a word names: a host directory if it contains a '/', @SNAPSHOT
 * of the namespace, or NAMESPACE[@SNAPSHOT]. Without a word: the origin of the
 * namespace. */
static int open_from(struct cli *cli, struct vfs *v, struct diff_source *out,
		     struct err *e)
{
	const char *word = cli_arg(cli, 0), *base = vfs_base(v);
	struct err ignored;

	if (!word && base)
		word = base;
	if (!word) {
		if (open_snapshot(cli, v, VFS_FORK_POINT, out, e) == 0)
			return 0;
		return e->code != ERR_NOTFOUND
			       ? -1
			       : err_set(e, ERR_USAGE,
					 "namespace '%s' is not a fork and has "
					 "no lower directory; name a snapshot, "
					 "a namespace or a directory to "
					 "compare with",
					 vfs_name(v));
	}
	if (strchr(word, '/')) {
		out->dir = word;
		return 0;
	}
	if (vfs_other(cli, &word, e))
		return -1;
	if (word[0] == '@')
		return open_snapshot(cli, v, word + 1, out, e);
	if (vfs_open(&out->v, cli->agent.db, word, "cli", e) == 0)
		return 0;
	/* a snapshot may be named without the '@' */
	return e->code == ERR_NOTFOUND && !strchr(word, '@') &&
			       !open_snapshot(cli, v, word, out, &ignored)
		       ? 0
		       : -1;
}

static int diff_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct difference_view s = {.cli = cli,
				    .to = {.v = v},
				    .text = difference_wants_patch(cli)};
	int rc;

	if (open_from(cli, v, &s.from, e))
		return -1;
	rc = vfs_diff(&s.from, &s.to, difference_print, &s, e);
	vfs_close(s.from.v);
	return rc;
}

static int run_vfs_diff(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, diff_in, e);
}

const struct command cmd_vfs_diff = {
	.name = "vfs diff",
	.args = "NAMESPACE [FROM]",
	.help = "show the changes since a snapshot, a fork or a "
		"directory",
	.about = "Each line starts with A (added), D (deleted), M "
		 "(modified), m (mode or owner changed) or U (unchanged here, "
		 "but deleted from the lower directory). Files that were added "
		 "to the lower directory after the namespace read it are not "
		 "changes of the namespace.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"FROM", "@SNAPSHOT, [:]NAME[@SNAPSHOT], or a host directory "
			 "(a path with a '/'). The default is the origin of a "
			 "fork, or the lower directory of the namespace"}),
	.options = OPTIONS(OPT_PATCH),
	.run = run_vfs_diff,
};
