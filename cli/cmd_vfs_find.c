#include "cli/vfs_cli.h"

#include <string.h>

struct search {
	struct cli *cli;
	struct vfs *v;
	const char *glob, *type;
	int64_t min;
};

static int look(void *arg, const struct vfs_found *f, struct err *e)
{
	struct search *s = arg;
	struct vfs_file file;
	struct buf b = BUF_MAX(1 << 20);

	if (!*f->path || (s->glob && !vfs_glob(s->glob, f)) ||
	    (s->type && strcmp(s->type, vfs_type_name(f->attr.mode)) != 0) ||
	    f->attr.size < s->min)
		return 0;
	if (s->cli->out.json) {
		if (vfs_file_of(s->cli, s->v, f->path, &f->attr, &file, e))
			return -1;
		output_object(&s->cli->out, &vfs_file_shape, &file);
		return 0;
	}
	output_safe(&b, f->path, strlen(f->path), false);
	output_note(&s->cli->out, "%s", b.p);
	buf_fini(&b);
	return 0;
}

static int find_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct search s = {
		.cli = cli,
		.v = v,
		.glob = cli_option(cli, "name"),
		.type = cli_option(cli, "type"),
		.min = cli_number(cli, "min-size", -1),
	};

	return vfs_visit(v, cli_arg(cli, 0) ? cli_arg(cli, 0) : "", look, &s,
			 e);
}

static int run(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, find_in, e);
}

const struct command cmd_vfs_find = {
	.name = "vfs find",
	.args = "WHERE [PATH]",
	.help = "list paths of a tree, by name, type or size",
	.needs = VFS_NEEDS,
	.options =
		(const struct option_spec[]){
			{"name", "GLOB",
			 "of the name, or of the path if it has a /",
			 OPTION_TEXT},
			{"type", "file|directory|link|fifo|socket|device",
			 "only these", OPTION_WORD},
			{"min-size", "BYTES", "at least", OPTION_BYTES},
			VFS_OPTIONS_END},
	.run = run,
};
