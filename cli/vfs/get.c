#include "cli/vfs/vfs_transfer_cli.h"

#include "lib/os/atomic_file.h"
#include "lib/os/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 20)

static bool is_zeros(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* A piece of zeros becomes a hole, except in a pipe. */
static int write_or_skip_zeros(const struct atomic_file *f, const char *p,
			       size_t n, struct err *e)
{
	if (!f->tmp[0] || !is_zeros(p, n))
		return file_write_fd(f->fd, f->path, p, n, e);
	return lseek(f->fd, (off_t)n, SEEK_CUR) < 0
		       ? err_errno_set(e, "%s", f->path)
		       : 0;
}

static int copy_out(struct cli *cli, struct vfs *v, const struct vfs_attr *a,
		    const struct atomic_file *f, struct err *e)
{
	char *room = arena_alloc(&cli->arena, PIECE);
	int64_t off = 0;
	ssize_t n;

	while ((n = vfs_pread(v, a->ino, room, PIECE, off, e)) > 0) {
		if (write_or_skip_zeros(f, room, (size_t)n, e))
			return -1;
		off += n;
	}
	if (n == 0 && f->tmp[0] && ftruncate(f->fd, off))
		return err_errno_set(e, "%s", f->path);
	return (int)n;
}

static int get_to_output(struct cli *cli, struct vfs *v,
			 const struct vfs_attr *a, struct err *e)
{
	const struct atomic_file out = {.fd = STDOUT_FILENO, .path = "output"};

	(void)fflush(cli->out.to);
	return copy_out(cli, v, a, &out, e);
}

static int get_file(struct cli *cli, struct vfs *v, const struct vfs_attr *a,
		    const char *to, struct err *e)
{
	struct atomic_file f;

	if (atomic_file_open(&f, to, a->mode & 0777, e))
		return -1;
	return atomic_file_end(&f, copy_out(cli, v, a, &f, e), e);
}

static int get_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0), *to = cli_arg(cli, 1);
	struct transfer_view view;
	struct vfs_attr a;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e))
		return -1;
	if (!to)
		to = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (!strcmp(to, "-") && !S_ISDIR(a.mode))
		return get_to_output(cli, v, &a, e);
	if (S_ISDIR(a.mode)) {
		transfer_begin_export(cli, &view, v, path);
		return port_end(cli, &view,
				arena_printf(&cli->arena,
					     "copied %s from %s to %s", path,
					     vfs_full_name(cli, v), to),
				vfs_export_dir(v, to, &view.port, e));
	}
	if (get_file(cli, v, &a, to, e))
		return -1;
	vfs_report(cli, v, "copied", path, "copied %s from %s to %s", path,
		   vfs_full_name(cli, v), to);
	return 0;
}

static int run_vfs_get(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, get_in, e);
}

const struct command cmd_vfs_get = {
	.name = "vfs get",
	.args = "NAMESPACE PATH [TO]",
	.help = "copy a file or a directory to the host",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"TO", "path on the host, or '-' for standard output "
		       "(default: the name of the file, in the current "
		       "directory)"}),
	.options = OPTIONS(PORT_SETUID, PORT_DEVICES),
	.run = run_vfs_get,
};
