#include "cli/vfs/vfs_cli.h"

#include <stdio.h>
#include <string.h>

struct search {
	struct cli *cli;
	struct vfs *v;
	const char *start, *glob, *type;
	int64_t min;
	int64_t found;
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
	s->found++;
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

	if (vfs_visit(v, s.start, print_found, &s, e))
		return -1;
	if (s.found == 0 && !cli->out.json)
		fprintf(stderr, "no matching files\n");
	return 0;
}

static int run_vfs_find(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, find_in, e);
}

const struct command cmd_vfs_find = {
	.name = "vfs find",
	.args = "NAMESPACE [PATH]",
	.help = "list paths, filtered by name, type or size",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"PATH", "directory to search, from the root of the namespace "
			 "(default: the root)"}),
	.options = OPTIONS(
		OPTION(TEXT, 0, "name", "GLOB",
		       "list only names that match GLOB, or paths if GLOB "
		       "has a '/'"),
		OPTION(WORD, 't', "type",
		       "file|directory|link|fifo|socket|device",
		       "list only files of this type"),
		OPTION(BYTES, 0, "min-size", "BYTES",
		       "list only files of at least this size")),
	.run = run_vfs_find,
};
