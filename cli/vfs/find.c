#include "cli/vfs/vfs_cli.h"

#include <string.h>

struct search {
	struct cli *cli;
	struct vfs *v;
	const char *start, *glob, *type;
	int64_t min;
};

static int print_found(void *arg, const struct vfs_found *f, struct err *e)
{
	struct search *s = arg;
	struct buf path = BUF_MAX(1 << 20), safe = BUF_MAX(1 << 20);
	struct vfs_file file;
	int rc = 0;

	if (!*f->path || (s->glob && !vfs_glob(s->glob, f)) ||
	    (s->type && strcmp(s->type, vfs_type_name(f->attr.mode)) != 0) ||
	    f->attr.size < s->min)
		return 0;
	vfs_add_found(&path, s->start, f->path);
	if (s->cli->out.json) {
		rc = vfs_file_of(s->cli, s->v, path.p, &f->attr, &file, e);
		if (rc == 0)
			output_object(&s->cli->out, &vfs_file_shape, &file);
	} else {
		output_safe(&safe, path.p, path.n, false);
		output_note(&s->cli->out, "%s", safe.p);
	}
	buf_fini(&path);
	buf_fini(&safe);
	return rc;
}

static int find_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct search s = {
		.cli = cli,
		.v = v,
		.start = cli_arg(cli, 0) ? cli_arg(cli, 0) : "",
		.glob = cli_option(cli, "name"),
		.type = cli_option(cli, "type"),
		.min = cli_number(cli, "min-size", -1),
	};

	return vfs_visit(v, s.start, print_found, &s, e);
}

static int run_vfs_find(struct cli *cli, struct err *e)
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
	.run = run_vfs_find,
};
