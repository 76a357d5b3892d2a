#include "cli/vfs/vfs_change.h"

#include "lib/base/clock.h"

#include <string.h>

#define CHANGE(F, S)    \
	F(S, i64, seq)  \
	F(S, time, at)  \
	F(S, text, who) \
	F(S, text, run) \
	F(S, opt, turn) \
	F(S, text, tool) F(S, text, op) F(S, text, path) F(S, i64, ino)
SHAPE_DECLARE(vfs_change_view, CHANGE);
SHAPE_DEFINE(vfs_change_view, CHANGE);

/* RUN/TURN/TOOL, or the kind of process: after ':' is its id, which says nothing
 * later. */
static const char *author_of(struct cli *cli, const struct vfs_change *c)
{
	if (!c->run)
		return arena_textn(&cli->arena, c->who, strcspn(c->who, ":"));
	return arena_printf(&cli->arena, "%s/%lld%s%s", c->run,
			    (long long)c->turn, c->tool ? "/" : "",
			    c->tool ? c->tool : "");
}

void vfs_change_print(struct cli *cli, struct vfs *v,
		      const struct vfs_change *c)
{
	struct buf path = BUF_MAX(1 << 20), safe = BUF_MAX(1 << 20);
	char when[CLOCK_TEXT];
	struct vfs_change_view row = {
		.seq = c->seq,
		.at = c->at / 1000000,
		.who = author_of(cli, c),
		.run = c->run,
		.turn = c->turn,
		.tool = c->tool,
		.op = vfs_op_name(c->op),
		.ino = c->ino,
	};
	struct err gone;

	/* a directory that was deleted meanwhile has no path */
	if (c->dir > 0 && vfs_path_of(v, c->dir, &path, &gone))
		buf_adds(&path, "?");
	if (path.n)
		buf_addc(&path, '/');
	buf_adds(&path, c->name);
	if (!path.n)
		buf_addc(&path, '/');
	row.path = path.p;
	if (cli->out.json) {
		output_object(&cli->out, &vfs_change_view_shape, &row);
	} else {
		output_safe(&safe, path.p, path.n, false);
		output_note(&cli->out, "%lld %s %s %s %s", (long long)c->seq,
			    clock_text(row.at, when), row.who, row.op, safe.p);
	}
	buf_fini(&path);
	buf_fini(&safe);
}
