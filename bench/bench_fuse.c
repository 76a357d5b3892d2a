/* The mount beside bindfs and the disk. */
#include "bench/bench.h"
#include "bench/mounted.h"
#include "bench/tree.h"
#include "vfs/mount.h"

#define BIG_MB   4096
#define QUICK_MB 64

static int operations(struct bench_run *r, struct err *e)
{
	struct tree_side sides[3] = {
		{.name = "fuse", .kind = &tree_dir},
		{.name = "ext4", .kind = &tree_dir},
		{.name = "bindfs", .kind = &tree_dir},
	};
	pid_t ours, bindfs;
	int rc;

	if (vfs_mount_check(e))
		return -1;
	sides[0].dir = bench_dir(r, "mount");
	sides[1].dir = bench_dir(r, "disk");
	sides[2].dir = bench_dir(r, "bindfs");
	ours = mounted_ours(bench_dir(r, "home"), sides[0].dir, e);
	if (ours < 0)
		return -1;
	bindfs = mounted_bindfs(bench_dir(r, "below"), sides[2].dir);
	if (bindfs < 0)
		bench_say(r, "bindfs is not there: apt install bindfs");
	rc = tree_bench(r, sides, bindfs < 0 ? 2 : 3, "fuse_", e);
	mounted_end(ours, sides[0].dir);
	mounted_end(bindfs, sides[2].dir);
	return rc;
}

static int run(struct bench_run *r, struct err *e)
{
	int64_t mb = bench_option_i64(r, "big-mb",
				      bench_is_quick(r) ? QUICK_MB : BIG_MB);

	if (operations(r, e))
		return -1;
	return mb > 0 && !bench_stopped(r) ? mounted_big(r, mb, e) : 0;
}

const struct bench bench_fuse = {
	.name = "fuse",
	.help = "files on the mount, beside bindfs and the disk",
	.about = "The same operations as `vfs`, by system calls on a mounted "
		 "namespace, on bindfs and on the\ndisk itself. Then the "
		 "memory of the server while one big file is written and "
		 "read.\nNeeds root, or a user and mount namespace of one's "
		 "own.",
	.options =
		(const struct bench_option[]){
			{"big-mb", "N",
			 "size of the big file (default 4096; 0: none)"},
			{0}},
	.seconds = 0.3,
	.rounds = 5,
	.run = run,
};
