#include "cli/vfs/vfs_cli.h"

#include "lib/base/text.h"
#include "vfs/check/check.h"

#define COMPACTED(F, S)         \
	F(S, i64, bytes_before) \
	F(S, i64, bytes_after) F(S, i64, joined) F(S, i64, compressed)
SHAPE_DECLARE(vfs_compacted, COMPACTED);
SHAPE_DEFINE(vfs_compacted, COMPACTED);

static void print_compact_progress(void *arg, int64_t done, int64_t total)
{
	struct progress *bar = arg;

	bar->total = total;
	progress_at(bar, done);
}

static int run_vfs_compact(struct cli *cli, struct err *e)
{
	struct progress bar;
	struct vfs_compact c = {.report = print_compact_progress, .arg = &bar};
	struct vfs_compacted result;
	char before[TEXT_HUMAN], after[TEXT_HUMAN];
	int rc;

	progress_begin(&bar, &cli->out, "compacting", 0);
	rc = vfs_compact(cli->agent.db, &c, e);
	progress_end(&bar);
	if (rc)
		return -1;
	result = (struct vfs_compacted){c.before, c.after, c.joined,
					c.compressed};
	output_result(&cli->out, &vfs_compacted_shape, &result,
		      "compacted the database of agent %s from %s to %s: %lld "
		      "%s joined, %lld compressed",
		      cli->agent_name, text_human_bytes(c.before, before),
		      text_human_bytes(c.after, after), (long long)c.joined,
		      text_plural(c.joined, "duplicate", "duplicates"),
		      (long long)c.compressed);
	return 0;
}

const struct command cmd_vfs_compact = {
	.name = "vfs compact",
	.args = "NAMESPACE",
	.help = "deduplicate and compress the files of an agent",
	.about = "Identical content is stored once, content is compressed at a "
		 "higher level, and free pages are returned to the file "
		 "system. All namespaces of the agent are compacted. "
		 "Deduplication and compression use short transactions; "
		 "returning many free pages is one transaction, during which "
		 "other writers of the database wait.",
	.needs = NEEDS_AGENT_FILE | NEEDS_AGENT_WORD,
	.run = run_vfs_compact,
};
