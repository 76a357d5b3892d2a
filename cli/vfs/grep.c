#include "cli/vfs/vfs_cli.h"

#include "vfs/search/grep.h"

#define MATCH(F, S) F(S, text, path) F(S, i64, line) F(S, text, text)
SHAPE_DECLARE(vfs_match_view, MATCH);
SHAPE_DEFINE(vfs_match_view, MATCH);

struct matches {
	struct cli *cli;
	const char *start;
	bool names_only;
	int64_t n;
};

static int print_match(void *arg, const struct vfs_match *m, struct err *e)
{
	struct matches *s = arg;
	struct output *o = &s->cli->out;
	struct buf found = BUF_MAX(1 << 20), path = BUF_MAX(1 << 20);
	struct buf text = BUF_MAX((size_t)1 << 30);

	(void)e;
	s->n++;
	vfs_add_found(&found, s->start, m->path);
	if (o->json) {
		struct vfs_match_view row = {found.p, m->line, NULL};

		buf_add(&text, m->text, m->n);
		row.text = text.p;
		output_object(o, &vfs_match_view_shape, &row);
	} else {
		output_safe(&path, found.p, found.n, false);
		output_safe(&text, m->text, m->n, false);
		if (s->names_only)
			output_note(o, "%s", path.p);
		else
			output_note(o, "%s:%lld:%s", path.p, (long long)m->line,
				    text.p);
	}
	buf_fini(&found);
	buf_fini(&path);
	buf_fini(&text);
	return 0;
}

static int grep_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_grep g = {
		.pattern = cli_arg(cli, 0),
		.regex = cli_flag(cli, "regex"),
		.ignore_case = cli_flag(cli, "ignore-case"),
		.names_only = cli_flag(cli, "names"),
		.glob = cli_option(cli, "glob"),
	};
	struct matches s = {cli, cli_arg(cli, 1) ? cli_arg(cli, 1) : "",
			    g.names_only, 0};

	if (vfs_grep(v, s.start, &g, print_match, &s, e))
		return -1;
	if (s.n == 0)
		return err_set(e, ERR_NOTFOUND, "no matches");
	return 0;
}

static int run_vfs_grep(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, grep_in, e);
}

const struct command cmd_vfs_grep = {
	.name = "vfs grep",
	.args = "NAMESPACE PATTERN [PATH]",
	.help = "search files line by line, without the index",
	.about = "Binary files are skipped.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"PATTERN",
		 "text, or an extended regular expression with --regex"},
		{"PATH", "file or directory to search, from the root of the "
			 "namespace (default: the root)"}),
	.options = OPTIONS(
		FLAG('E', "regex",
		     "treat PATTERN as an extended regular expression"),
		FLAG('i', "ignore-case", "ignore case"),
		FLAG('l', "names", "print only the paths of matching files"),
		OPTION(TEXT, 0, "glob", "GLOB",
		       "search only files whose name or path matches GLOB")),
	.run = run_vfs_grep,
};
