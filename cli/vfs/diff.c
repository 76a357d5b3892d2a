#include "cli/vfs/vfs_cli.h"

#include "vfs/snapshot/diff.h"

#include <string.h>

#define DELTA(F, S) F(S, text, change) F(S, text, path) F(S, text, text)
SHAPE_DECLARE(vfs_difference_view, DELTA);
SHAPE_DEFINE(vfs_difference_view, DELTA);

struct show {
	struct cli *cli;
	struct diff_source from, to;
};

static int print_difference(void *arg, const struct vfs_difference *d,
			    struct err *e)
{
	struct show *s = arg;
	struct output *o = &s->cli->out;
	struct buf text = BUF_MAX((size_t)256 << 20), path = BUF_MAX(1 << 20);
	struct vfs_difference_view row = {vfs_difference_letter(d->kind),
					  d->path, NULL};
	int rc = 0;

	if (cli_flag(s->cli, "text")) {
		rc = vfs_diff_text(&s->from, &s->to, d, &text, e);
		row.text = text.p;
	}
	if (rc == 0 && o->json) {
		output_object(o, &vfs_difference_view_shape, &row);
	} else if (rc == 0 && row.text) {
		output_text(o, text.p, text.n);
	} else if (rc == 0) {
		output_safe(&path, d->path, strlen(d->path), false);
		output_note(o, "%s %s", row.change, path.p);
	}
	buf_fini(&text);
	buf_fini(&path);
	return rc;
}

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
	struct show s = {.cli = cli, .to = {.v = v}};
	int rc;

	if (open_from(cli, v, &s.from, e))
		return -1;
	rc = vfs_diff(&s.from, &s.to, print_difference, &s, e);
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
		 "(modified) or m (mode or owner changed).",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"FROM", "@SNAPSHOT, [:]NAME[@SNAPSHOT], or a host directory "
			 "(a path with a '/'). The default is the origin of a "
			 "fork, or the lower directory of the namespace"}),
	.options = OPTIONS(FLAG('u', "text", "print a unified diff")),
	.run = run_vfs_diff,
};
