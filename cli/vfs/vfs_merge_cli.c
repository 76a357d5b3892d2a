#include "cli/vfs/vfs_merge_cli.h"

#include "lib/base/text.h"

#include <string.h>

#define MERGED(F, S) F(S, text, change) F(S, text, path) F(S, bool, conflict)
SHAPE_DECLARE(vfs_merged_view, MERGED);
SHAPE_DEFINE(vfs_merged_view, MERGED);

static void print_merged(void *arg, const struct vfs_difference *d,
			 bool conflict)
{
	struct cli *cli = arg;
	struct vfs_merged_view row = {vfs_difference_letter(d->kind), d->path,
				      conflict};
	struct buf path = BUF_MAX(1 << 20);

	if (cli->out.json) {
		output_object(&cli->out, &vfs_merged_view_shape, &row);
	} else {
		output_safe(&path, d->path, strlen(d->path), false);
		output_note(&cli->out, "%s %s%s", row.change, path.p,
			    conflict ? "  (conflict)" : "");
	}
	buf_fini(&path);
}

int vfs_merge_cli(struct cli *cli, struct vfs *v,
		  int (*merge)(struct vfs *, struct vfs_merge *, struct err *),
		  struct err *e)
{
	const char *strategy = cli_option(cli, "strategy");
	struct vfs_merge m = {.report = print_merged, .arg = cli};

	if (strategy)
		m.strategy = !strcmp(strategy, "theirs") ? VFS_STRATEGY_FORK
							 : VFS_STRATEGY_PARENT;
	if (merge(v, &m, e))
		return -1;
	output_note(&cli->out, "%lld %s merged, %lld %s", (long long)m.taken,
		    text_plural(m.taken, "change", "changes"),
		    (long long)m.conflicts,
		    text_plural(m.conflicts, "conflict", "conflicts"));
	return 0;
}
