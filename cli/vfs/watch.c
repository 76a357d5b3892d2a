#include "cli/vfs/vfs_cli.h"

#include "cli/vfs/vfs_change.h"
#include "lib/base/clock.h"

#include <unistd.h>

static int watch_in(struct cli *cli, struct vfs *v, struct err *e)
{
	int64_t end = cli_number(cli, "timeout", INT64_MAX / 2), seq;
	int64_t start = clock_mono_ns() / 1000000;
	struct arena mem = {0};
	int n = 0;

	if (vfs_last_change(v, &seq, e))
		return -1;
	while (n >= 0 && clock_mono_ns() / 1000000 - start < end) {
		struct vfs_change *c;

		arena_reset(&mem);
		n = vfs_changes(v, seq, 500, &c, &mem, e);
		for (int i = 0; i < n; i++)
			vfs_change_print(cli, v, &c[i]);
		if (n > 0)
			seq = c[n - 1].seq;
		(void)fflush(cli->out.to);
		if (n == 0)
			usleep(50000);
	}
	arena_fini(&mem);
	return n < 0 ? -1 : 0;
}

static int run_vfs_watch(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, watch_in, e);
}

const struct command cmd_vfs_watch = {
	.name = "vfs watch",
	.args = "NAMESPACE",
	.help = "print the changes of a namespace as they happen",
	.needs = VFS_NEEDS,
	.options = OPTIONS(
		OPTION(MILLIS, 't', "timeout", "TIME", "stop after this time")),
	.run = run_vfs_watch,
};
