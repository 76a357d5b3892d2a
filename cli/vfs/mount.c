#include "cli/vfs/vfs_cli.h"

#include "vfs/fuse/mount.h"

#include <unistd.h>

static void ready(void *arg)
{
	struct cli *cli = arg;

	output_note(&cli->out, "mounted on %s", cli_arg(cli, 0));
	(void)fflush(cli->out.to);
}

static int mount_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_mount_options o = {
		.dir = cli_arg(cli, 0),
		.allow_other = geteuid() == 0 && !cli_flag(cli, "private"),
		.dev_suid = cli_flag(cli, "dev-suid"),
		.ready = ready,
		.arg = cli,
	};

	return vfs_mount(v, &o, e);
}

static int run_vfs_mount(struct cli *cli, struct err *e)
{
	return vfs_cli_make(cli, mount_in, e);
}

const struct command cmd_vfs_mount = {
	.name = "vfs mount",
	.args = "NAMESPACE DIR",
	.help = "mount a namespace on a host directory",
	.about = "The command serves the mount until DIR is unmounted or the "
		 "command is interrupted. If a run uses the mount as its "
		 "workspace, the command first waits for the run to end; a "
		 "second signal ends the command at once. Users other than "
		 "root need fusermount3 (package fuse3), or a user and mount "
		 "namespace (unshare -rm); then only they can access DIR.",
	.needs = VFS_NEEDS_MADE,
	.arguments = ARGUMENTS({"DIR", "host directory to mount on"}),
	.options = OPTIONS(
		FLAG(0, "private", "allow access only to the mounting user"),
		FLAG(0, "dev-suid", "honour device nodes and set-ID bits")),
	.run = run_vfs_mount,
};
