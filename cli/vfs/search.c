#include "cli/index_view.h"
#include "cli/vfs/vfs_cli.h"

#include "vfs/search/fts.h"

#define HIT(F, S) F(S, text, path) F(S, f64, score) F(S, text, snippet)
SHAPE_DECLARE(vfs_hit_view, HIT);
SHAPE_DEFINE(vfs_hit_view, HIT);

static int print_hits(struct cli *cli, struct vfs *v, struct vfs_text *ask,
		      struct err *e)
{
	struct vfs_text_hit *hits;
	struct index_view view;
	struct table *t;
	int n;

	index_view_begin(&view, cli, "files");
	ask->watch = &view.watch;
	n = vfs_text_search(v, ask, &hits, &cli->arena, e);
	index_view_end(&view);
	if (n < 0)
		return -1;
	t = table_new(&cli->out, &vfs_hit_view_shape, "path snippet");
	for (int i = 0; i < n; i++) {
		struct vfs_hit_view row = {hits[i].path, hits[i].score,
					   cli_trimmed(cli, hits[i].snippet)};

		table_add(t, &row);
	}
	table_end(t);
	return 0;
}

static int search_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_text ask = {
		.query = cli_words(cli, 0),
		.advanced = cli_flag(cli, "advanced"),
		.below = cli_option(cli, "below"),
		.skip = cli_count(cli, "skip", 0),
		.count = cli_count(cli, "limit", 20),
	};

	if (cli_flag(cli, "rebuild") && vfs_text_rebuild(v, e) < 0)
		return -1;
	return print_hits(cli, v, &ask, e);
}

static int run_vfs_search(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, search_in, e);
}

const struct command cmd_vfs_search = {
	.name = "vfs search",
	.args = "WHERE WORD...",
	.help = "find words in files, best first",
	.about = "All words must be there; \"words in quotes\" side by side; "
		 "word* is a beginning. The first search\nof a workspace makes "
		 "its index, later ones bring it up to date. Not in it are "
		 "files over 1 MiB, files\nthat are no text, and files of a "
		 "host directory that were not changed here: 'skep vfs grep' "
		 "looks\ninto all.",
	.needs = VFS_NEEDS,
	.options =
		(const struct option_spec[]){
			{"below", "DIR", "only files below this directory",
			 OPTION_TEXT},
			{"advanced", NULL, "WORD... is an FTS5 expression",
			 OPTION_FLAG},
			{"rebuild", NULL, "make the index anew first",
			 OPTION_FLAG},
			{"skip", "N", "pass over the first so many",
			 OPTION_INT},
			{"limit", "N", "at most so many (20)", OPTION_COUNT},
			VFS_OPTIONS_END},
	.run = run_vfs_search,
};
