#include "cli/vfs/vfs_transfer_cli.h"

#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int export_tar(struct vfs *v, const char *to, struct vfs_transfer *p,
		      struct err *e)
{
	int fd = STDOUT_FILENO, rc;

	if (strcmp(to, "-") != 0)
		fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	else if (isatty(fd))
		return err_set(e, ERR_USAGE,
			       "refusing to write a tar archive to a "
			       "terminal; use a file or a pipe");
	if (fd < 0)
		return err_errno_set(e, "cannot create %s", to);
	rc = vfs_export_tar(v, fd, p, e);
	if (fd != STDOUT_FILENO && close(fd) && rc == 0)
		rc = err_errno_set(e, "%s", to);
	return rc;
}

/* The format by the ending of the name. Compressed tar files are not
 * supported. */
static const struct {
	const char *end, *kind;
} endings[] = {
	{".tar", "tar"},    {".sqlar", "sqlar"}, {".agentfs", "agentfs"},
	{".db", "agentfs"}, {".tar.gz", NULL},   {".tgz", NULL},
	{".tar.bz2", NULL}, {".tar.xz", NULL},   {".tar.zst", NULL},
	{".tar.lz4", NULL}, {".zip", NULL},
};

static int guess(const char *to, const char **kind, struct err *e)
{
	*kind = !strcmp(to, "-") ? "tar" : "dir";
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		size_t n = strlen(to), m = strlen(endings[i].end);

		if (n < m || strcmp(to + n - m, endings[i].end) != 0)
			continue;
		*kind = endings[i].kind;
		if (!*kind)
			return err_set(
				e, ERR_USAGE,
				"%s: write a compressed archive through a "
				"pipe (skep vfs export NAMESPACE - | gzip > "
				"FILE), or use --format dir for a directory "
				"of this name",
				to);
	}
	return 0;
}

static int export_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *to = cli_arg(cli, 0), *kind = cli_option(cli, "format");
	struct transfer_view view;
	int rc;

	if (!kind && guess(to, &kind, e))
		return -1;
	transfer_begin_export(cli, &view, v, cli_arg(cli, 1));
	view.silent = !strcmp(to, "-");
	if (!strcmp(kind, "dir"))
		rc = vfs_export_dir(v, to, &view.port, e);
	else if (!strcmp(kind, "sqlar"))
		rc = vfs_export_sqlar(v, to, &view.port, e);
	else if (!strcmp(kind, "agentfs"))
		rc = vfs_export_agentfs(v, to, &view.port, e);
	else
		rc = export_tar(v, to, &view.port, e);
	return port_end(cli, &view,
			arena_printf(&cli->arena, "exported %s to %s",
				     vfs_full_name(cli, v), to),
			rc);
}

static int run_vfs_export(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, export_in, e);
}

const struct command cmd_vfs_export = {
	.name = "vfs export",
	.args = "NAMESPACE TO [PATH]",
	.help = "export a tree as a directory, or a tar, sqlar or "
		"AgentFS file",
	.about = "Set-user-ID and set-group-ID bits and device nodes "
		 "are omitted by default.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"TO", "path on the host, or '-' for a tar archive on "
		       "standard output; the endings .tar, .sqlar, .agentfs "
		       "and .db (AgentFS) select the format, and any other "
		       "name is a directory"},
		{"PATH", "directory to export, from the root of the namespace "
			 "(default: the root)"}),
	.options = OPTIONS(PORT_FORMAT, PORT_SETUID, PORT_DEVICES),
	.run = run_vfs_export,
};
