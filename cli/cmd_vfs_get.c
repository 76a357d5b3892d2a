#include "cli/vfs_port_cli.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 20)

static int copy(struct cli *cli, struct vfs *v, const struct vfs_attr *a,
		int fd, struct err *e)
{
	char *room = arena_alloc(&cli->arena, PIECE);
	int64_t off = 0;
	ssize_t n;

	while ((n = vfs_pread(v, a->ino, room, PIECE, off, e)) > 0) {
		if (file_write_fd(fd, "the file", room, (size_t)n, e))
			return -1;
		off += n;
	}
	return (int)n;
}

/* Beside the place first: the name always has the whole file. */
static int get_file(struct cli *cli, struct vfs *v, const struct vfs_attr *a,
		    const char *to, struct err *e)
{
	const char *tmp = arena_printf(&cli->arena, "%s.new.%d", to,
				       (int)getpid());
	int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		      a->mode & 0777);
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", tmp);
	rc = copy(cli, v, a, fd, e);
	if (rc == 0 && fsync(fd))
		rc = err_errno_set(e, "%s", tmp);
	if (close(fd) && rc == 0)
		rc = err_errno_set(e, "%s", tmp);
	if (rc == 0 && rename(tmp, to))
		rc = err_errno_set(e, "%s", to);
	if (rc)
		unlink(tmp);
	return rc;
}

static int get_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0), *to = cli_arg(cli, 1);
	struct port_view view;
	struct vfs_attr a;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e))
		return -1;
	if (!to)
		to = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (S_ISDIR(a.mode)) {
		port_begin(cli, &view, path, "exporting");
		return port_end(cli, &view,
				vfs_export_dir(v, to, &view.port, e));
	}
	if (get_file(cli, v, &a, to, e))
		return -1;
	vfs_say(cli, v, "got", path);
	return 0;
}

static int run(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, get_in, e);
}

const struct command cmd_vfs_get = {
	.name = "vfs get",
	.args = "WHERE PATH [TO]",
	.help = "copy a file or a directory to the host",
	.needs = VFS_NEEDS,
	.run = run,
};
