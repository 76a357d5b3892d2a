#include "cli/vfs/vfs_cli.h"

#include "lib/base/text.h"

#include <string.h>

/* Replaces the only occurrence of a text, or all with --all. */
static int replace(const struct buf *in, const char *old, const char *new,
		   bool all, struct buf *out)
{
	const char *p = in->p, *end = in->p + in->n, *hit;
	size_t n = strlen(old);
	int count = 0;

	while ((hit = memmem(p, (size_t)(end - p), old, n)) &&
	       (all || count == 0)) {
		buf_add(out, p, (size_t)(hit - p));
		buf_adds(out, new);
		p = hit + n;
		count++;
	}
	if (!all && hit)
		count++; /* a second occurrence: ambiguous */
	buf_add(out, p, (size_t)(end - p));
	return count;
}

static int edit_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0), *old = cli_arg(cli, 1);
	struct buf in = BUF_MAX((size_t)1 << 28),
		   out = BUF_MAX((size_t)1 << 28);
	struct vfs_attr a;
	char etag[VFS_ETAG];
	struct vfs_put how = {.if_etag = etag};
	bool all = cli_flag(cli, "all");
	int rc = vfs_read_file(v, path, &in, &a, e), n = 0;

	if (rc == 0 && !*old)
		rc = err_set(e, ERR_USAGE, "the text to replace is empty");
	if (rc == 0) {
		vfs_etag(&a, etag);
		n = replace(&in, old, cli_arg(cli, 2), all, &out);
		rc = buf_ok(&out, path, e);
	}
	if (rc == 0 && (n == 0 || (n > 1 && !all)))
		rc = err_set(e, n ? ERR_CONFLICT : ERR_NOTFOUND,
			     n ? "the text occurs more than once in '%s'; "
				 "give more context, or use --all"
			       : "the text does not occur in '%s'",
			     quoted(path).text);
	/* detects concurrent changes */
	if (rc == 0)
		rc = vfs_write_file(v, path, (struct blob){out.p, out.n}, &how,
				    e);
	if (rc == 0)
		vfs_report(cli, v, "edited", path, "edited %s in %s", path,
			   vfs_full_name(cli, v));
	buf_fini(&in);
	buf_fini(&out);
	return rc;
}

static int run_vfs_edit(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, edit_in, e);
}

const struct command cmd_vfs_edit = {
	.name = "vfs edit",
	.args = "NAMESPACE PATH OLD NEW",
	.help = "replace text in a file",
	.about = "The command fails if another process changes the "
		 "file in the meantime.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"OLD", "text to replace; it must occur exactly once unless "
			"--all is given"},
		{"NEW", "replacement"}),
	.options = OPTIONS(OPT_ALL("replace every occurrence")),
	.run = run_vfs_edit,
};
