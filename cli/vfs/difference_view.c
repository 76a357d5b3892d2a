#include "cli/vfs/difference_view.h"

#include <string.h>

bool difference_wants_patch(const struct cli *cli)
{
	return cli_flag(cli, "patch") || cli_flag(cli, "unified");
}

#define DELTA(F, S) F(S, text, change) F(S, text, path) F(S, text, text)
SHAPE_DECLARE(vfs_difference_view, DELTA);
SHAPE_DEFINE(vfs_difference_view, DELTA);

int difference_print(void *arg, const struct vfs_difference *d, struct err *e)
{
	struct difference_view *s = arg;
	struct output *o = &s->cli->out;
	struct buf text = BUF_MAX((size_t)256 << 20), path = BUF_MAX(1 << 20);
	struct vfs_difference_view row = {vfs_difference_letter(d->kind),
					  d->path, NULL};
	int rc = 0;

	if (d->is_unseen)
		return 0;
	if (s->text) {
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

#define MERGED(F, S) F(S, text, change) F(S, text, path) F(S, bool, conflict)
SHAPE_DECLARE(vfs_merged_view, MERGED);
SHAPE_DEFINE(vfs_merged_view, MERGED);

void difference_merged(void *arg, const struct vfs_difference *d, bool conflict)
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
