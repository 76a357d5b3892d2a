#include "cli/vfs/vfs_transfer_cli.h"

#include "lib/base/text.h"
#include "lib/os/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int import_tar(struct vfs *v, const char *from, struct vfs_transfer *p,
		      struct err *e)
{
	int fd = strcmp(from, "-") ? open_files_openat(AT_FDCWD, from,
						       O_RDONLY | O_CLOEXEC)
				   : STDIN_FILENO;
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", from);
	rc = vfs_import_tar(v, fd, p, e);
	if (rc && e->code == ERR_INVALID)
		rc = err_wrap(e, "%s", strcmp(from, "-") ? from : "input");
	if (fd != STDIN_FILENO)
		close(fd);
	return rc;
}

/* The format of a source without --format: a directory, or by its first
 * bytes. */
static const char *guess(const char *from)
{
	char head[16] = "";
	struct stat st;
	int fd;

	if (!strcmp(from, "-"))
		return "tar";
	if (!stat(from, &st) && S_ISDIR(st.st_mode))
		return "dir";
	fd = open_files_openat(AT_FDCWD, from, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, head, sizeof head) < 0)
			head[0] = '\0';
		close(fd);
	}
	if (memcmp(head, "SQLite format 3", 16) != 0)
		return "tar";
	return strlen(from) > 6 && !strcmp(from + strlen(from) - 6, ".sqlar")
		       ? "sqlar"
		       : "agentfs";
}

static int import_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *from = cli_arg(cli, 0), *kind = cli_option(cli, "format");
	struct transfer_view view;
	int rc;

	port_begin_import(cli, &view, from, cli_arg(cli, 1));
	view.port.replace = cli_flag(cli, "replace");
	if (!kind)
		kind = guess(from);
	sql_defer_sync(cli->agent.db, true); /* until it is complete */
	if (!strcmp(kind, "dir"))
		rc = vfs_import_dir(v, from, &view.port, e);
	else if (!strcmp(kind, "sqlar"))
		rc = vfs_import_sqlar(v, from, &view.port, e);
	else if (!strcmp(kind, "agentfs"))
		rc = vfs_import_agentfs(v, from, &view.port, e);
	else
		rc = import_tar(v, from, &view.port, e);
	sql_defer_sync(cli->agent.db, false);
	if (rc == 0)
		rc = vfs_sync(v, e);
	return port_end(
		cli, &view,
		arena_printf(&cli->arena, "imported %s into %s",
			     strcmp(from, "-") ? from : "standard input",
			     vfs_full_name(cli, v)),
		rc);
}

static int run_vfs_import(struct cli *cli, struct err *e)
{
	return vfs_cli_make(cli, import_in, e);
}

const struct command cmd_vfs_import = {
	.name = "vfs import",
	.args = "NAMESPACE FROM [PATH]",
	.help = "import a directory, or a tar, sqlar or AgentFS file",
	.about = "Existing files are replaced and directories are "
		 "merged. 'skep vfs put' imports a single file.",
	.needs = VFS_NEEDS_MADE,
	.arguments = ARGUMENTS(
		{"FROM", "path on the host; '-' reads a tar archive, "
			 "compressed or not, from standard input"},
		{"PATH", "directory to import into, from the root of the "
			 "namespace (default: the root)"}),
	.options = OPTIONS(
		PORT_FORMAT,
		FLAG(0, "replace",
		     "allow a file to replace a directory of the same name")),
	.run = run_vfs_import,
};
