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
	return vfs_cli(cli, mount_in, e);
}

const struct command cmd_vfs_mount = {
	.name = "vfs mount",
	.args = "WHERE DIR",
	.help = "mount a namespace on a directory and serve it",
	.about = "Runs until it is unmounted or stopped. If a run has its "
		 "workspace from this mount, it is served until\nthe run has "
		 "ended; a second signal stops it at once. Needs root, or a "
		 "user and mount namespace: unshare -rm.",
	.needs = VFS_NEEDS,
	.options =
		(const struct option_spec[]){
			{"private", NULL, "only for the user who mounts",
			 OPTION_FLAG},
			{"dev-suid", NULL,
			 "device nodes and set-id programs work", OPTION_FLAG},
			VFS_OPTIONS_END},
	.run = run_vfs_mount,
};
