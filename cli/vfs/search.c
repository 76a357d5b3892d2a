#include "cli/index_view.h"
#include "cli/list.h"
#include "cli/vfs/vfs_cli.h"

#include "vfs/search/fts.h"

#define HIT(F, S) F(S, text, path) F(S, f64, score) F(S, text, snippet)
SHAPE_DECLARE(vfs_hit_view, HIT);
SHAPE_DEFINE(vfs_hit_view, HIT);

static int print_hits(struct cli *cli, struct vfs *v, struct vfs_text *query,
		      struct err *e)
{
	struct vfs_text_hit *hits;
	struct index_view view;
	struct cli_list l = {
		.cli = cli,
		.shape = &vfs_hit_view_shape,
		.columns = "path snippet",
		.none = "no matches; 'skep vfs grep' also searches files that "
			"are not in the index",
	};
	int n;

	index_view_begin(&view, cli, "files");
	query->watch = &view.watch;
	n = vfs_text_search(v, query, &hits, &cli->arena, e);
	index_view_end(&view);
	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		struct vfs_hit_view row = {hits[i].path, hits[i].score,
					   cli_trimmed(cli, hits[i].snippet)};

		cli_list_add(&l, &row);
	}
	cli_list_end(&l);
	return 0;
}

static int search_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_text query = {
		.query = cli_words(cli, 0),
		.advanced = cli_flag(cli, "advanced"),
		.below = cli_option(cli, "under"),
		.skip = cli_count(cli, "skip", 0),
		.count = cli_count(cli, "limit", 20),
	};

	if (cli_flag(cli, "rebuild") && vfs_text_rebuild(v, e) < 0)
		return -1;
	return print_hits(cli, v, &query, e);
}

static int run_vfs_search(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, search_in, e);
}

const struct command cmd_vfs_search = {
	.name = "vfs search",
	.args = "NAMESPACE WORD...",
	.help = "search the full-text index of files, best match "
		"first",
	.about = "All words must occur. \"Words in quotes\" must be "
		 "adjacent, and word* matches every word with this "
		 "prefix. The first search builds the index and later "
		 "ones update it. The index excludes files over 1 "
		 "MiB, binary files, and unchanged files of a lower "
		 "directory; 'skep vfs grep' searches all files.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS({"WORD", "word to search for"}),
	.options = OPTIONS(
		OPTION(TEXT, 0, "under", "DIR",
		       "search only below this directory"),
		FLAG(0, "advanced", "treat the words as an FTS5 expression"),
		FLAG(0, "rebuild", "rebuild the index first"),
		OPTION(INT, 0, "skip", "N", "skip the first N matches"),
		OPT_LIMIT("print at most N matches (default 20)"), OPT_LIST),
	.run = run_vfs_search,
};
