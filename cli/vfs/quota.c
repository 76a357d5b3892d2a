#include "cli/vfs/vfs_cli.h"

#include "lib/base/text.h"

#include <inttypes.h>

#define QUOTA(F, S)           \
	F(S, text, namespace) \
	F(S, i64, bytes)      \
	F(S, i64, max_bytes) F(S, i64, files) F(S, i64, max_files)
SHAPE_DECLARE(vfs_quota_view, QUOTA);
SHAPE_DEFINE(vfs_quota_view, QUOTA);

static void add_limit(struct buf *b, int64_t max, const char *text)
{
	if (max)
		buf_addf(b, " of at most %s", text);
}

static void print_quota(struct cli *cli, const struct vfs *v,
			const struct vfs_quota_view *q)
{
	char used[TEXT_HUMAN], max[TEXT_HUMAN];
	struct buf line = BUF_MAX(4096);

	buf_addf(&line, "%s: %s", vfs_full_name(cli, v),
		 text_human_bytes(q->bytes, used));
	add_limit(&line, q->max_bytes, text_human_bytes(q->max_bytes, max));
	buf_addf(&line, ", %" PRId64 " files and directories", q->files);
	snprintf(max, sizeof max, "%" PRId64, q->max_files);
	add_limit(&line, q->max_files, max);
	if (!q->max_bytes && !q->max_files)
		buf_adds(&line, "; no quota");
	output_result(&cli->out, &vfs_quota_view_shape, q, "%s", line.p);
	buf_fini(&line);
}

static int quota_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_usage u;
	struct vfs_quota_view view;

	if (vfs_usage(v, &u, e))
		return -1;
	if (cli_flag(cli, "bytes") || cli_flag(cli, "files")) {
		u.max_bytes = cli_number(cli, "bytes", u.max_bytes);
		u.max_files = cli_number(cli, "files", u.max_files);
		if (vfs_set_quota(v, u.max_bytes, u.max_files, e))
			return -1;
	}
	view = (struct vfs_quota_view){vfs_name(v), u.bytes, u.max_bytes,
				       u.files, u.max_files};
	print_quota(cli, v, &view);
	return 0;
}

static int run_vfs_quota(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, quota_in, e);
}

const struct command cmd_vfs_quota = {
	.name = "vfs quota",
	.args = "NAMESPACE",
	.help = "show or set the quota of a namespace",
	.needs = VFS_NEEDS,
	.options = OPTIONS(
		OPTION(BYTES, 0, "bytes", "BYTES",
		       "maximum total size of all files; 0 removes the limit"),
		OPTION(INT, 0, "files", "N",
		       "maximum number of files and directories; 0 removes the "
		       "limit")),
	.run = run_vfs_quota,
};
