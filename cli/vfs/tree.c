#include "cli/vfs/vfs_cli.h"
#include "lib/base/text.h"

#include <string.h>
#include <sys/stat.h>

struct tree {
	struct cli *cli;
	struct vfs *v;
	int64_t dirs, files;
};

static int print_tree_entry(void *arg, const struct vfs_found *f, struct err *e)
{
	struct tree *t = arg;
	struct vfs_file file;
	struct buf b = BUF_MAX(1 << 16);

	if (S_ISDIR(f->attr.mode))
		t->dirs++;
	else
		t->files++;
	if (t->cli->out.json) {
		if (vfs_file_of(t->cli, t->v, f->path, &f->attr, &file, e))
			return -1;
		output_object(&t->cli->out, &vfs_file_shape, &file);
		return 0;
	}
	output_safe(&b, f->name, strlen(f->name), false);
	output_note(&t->cli->out, "%*s%s%s", f->depth * 2, "",
		    f->depth ? b.p : ".", S_ISDIR(f->attr.mode) ? "/" : "");
	buf_fini(&b);
	return 0;
}

static int tree_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct tree t = {cli, v, 0, 0};

	if (vfs_visit(v, cli_arg(cli, 0) ? cli_arg(cli, 0) : "",
		      print_tree_entry, &t, e))
		return -1;
	output_note(&cli->out, "%lld %s, %lld %s", (long long)t.dirs,
		    text_plural(t.dirs, "directory", "directories"),
		    (long long)t.files, text_plural(t.files, "file", "files"));
	return 0;
}

static int run_vfs_tree(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, tree_in, e);
}

const struct command cmd_vfs_tree = {
	.name = "vfs tree",
	.args = "NAMESPACE [PATH]",
	.help = "print a directory tree",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"PATH", "directory, from the root of the namespace (default: "
			 "the root)"}),
	.run = run_vfs_tree,
};
