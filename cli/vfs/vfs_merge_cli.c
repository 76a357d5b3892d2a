#include "cli/vfs/vfs_merge_cli.h"

#include "cli/vfs/difference_view.h"
#include "lib/base/text.h"

#include <string.h>

const char *const *merge_paths(struct cli *cli, const char *option)
{
	const char **paths;
	int n = 0;

	while (cli_many(cli, option, n))
		n++;
	paths = arena_alloc(&cli->arena, (size_t)(n + 1) * sizeof *paths);
	for (int i = 0; i < n; i++)
		paths[i] = cli_many(cli, option, i);
	paths[n] = NULL;
	return paths;
}

int vfs_merge_cli(struct cli *cli, struct vfs *v,
		  int (*merge)(struct vfs *, struct vfs_merge *, struct err *),
		  struct err *e)
{
	const char *strategy = cli_option(cli, "strategy");
	struct vfs_merge m = {.report = difference_merged,
			      .arg = cli,
			      .ours = merge_paths(cli, "ours"),
			      .theirs = merge_paths(cli, "theirs")};

	if (strategy)
		m.strategy = !strcmp(strategy, "theirs") ? VFS_STRATEGY_FORK
							 : VFS_STRATEGY_PARENT;
	if (merge(v, &m, e))
		return -1;
	output_note(&cli->out, "%lld %s merged, %lld %s", (long long)m.applied,
		    text_plural(m.applied, "change", "changes"),
		    (long long)m.conflicts,
		    text_plural(m.conflicts, "conflict", "conflicts"));
	return 0;
}
