/* The mount beside bindfs and the disk. */
#include "bench/bench.h"
#include "bench/suites/fuse_mount.h"
#include "bench/suites/tree.h"
#include "vfs/fuse/mount.h"

#include <stdio.h>
#include <sys/stat.h>

#define BIG_MB   4096
#define QUICK_MB 64

/* A new directory in another. */
static const char *within(char out[4096], const char *dir, const char *name)
{
	snprintf(out, 4096, "%s/%s", dir, name);
	return mkdir(out, 0755) ? NULL : out;
}

/* `dirs`: ours, the disk and bindfs. */
static int reads_and_builds(struct bench_run *r, const char *const dirs[3],
			    bool bindfs, struct err *e)
{
	char room[4][4096];
	const char *read[2] = {within(room[0], dirs[0], "read"),
			       bindfs ? within(room[1], dirs[2], "read") : ""};
	const char *make[2] = {within(room[2], dirs[0], "make"),
			       within(room[3], dirs[1], "make")};

	if (!read[0] || !read[1] || !make[0] || !make[1])
		return err_errno_set(e, "a new directory");
	if (fuse_read(r, read, bindfs ? 2 : 1, e))
		return -1;
	return bench_stopped(r) ? 0 : fuse_make(r, make, e);
}

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
	ours = fuse_mount_ours(bench_dir(r, "home"), sides[0].dir, e);
	if (ours < 0)
		return -1;
	bindfs = fuse_mount_bindfs(bench_dir(r, "below"), sides[2].dir);
	if (bindfs < 0)
		bench_print(r, "bindfs is not there: apt install bindfs");
	rc = tree_bench(r, sides, bindfs < 0 ? 2 : 3, "fuse_", e);
	if (rc == 0 && !bench_is_quick(r) && !bench_stopped(r))
		rc = reads_and_builds(r,
				      (const char *const[]){sides[0].dir,
							    sides[1].dir,
							    sides[2].dir},
				      bindfs >= 0, e);
	fuse_mount_end(ours, sides[0].dir);
	fuse_mount_end(bindfs, sides[2].dir);
	return rc;
}

static int run_fuse(struct bench_run *r, struct err *e)
{
	int64_t mb = bench_option_i64(r, "big-mb",
				      bench_is_quick(r) ? QUICK_MB : BIG_MB);

	if (operations(r, e))
		return -1;
	return mb > 0 && !bench_stopped(r) ? fuse_big_file(r, mb, e) : 0;
}

const struct bench bench_fuse = {
	.name = "fuse",
	.help = "files on the mount, beside bindfs and the disk",
	.about = "The same operations as `vfs`, by system calls on a mounted "
		 "namespace, on bindfs and on the\ndisk itself. Then reading "
		 "without the kernel's cache, a build, and the memory of the\n"
		 "server while one big file is written and "
		 "read. Needs root, or a user and mount namespace of one's "
		 "own.",
	.options =
		(const struct bench_option[]){
			{"big-mb", "N",
			 "size of the big file (default 4096; 0: none)"},
			{0}},
	/* Many short rounds: in each one the scheduler may place client and
	 * server on other CPUs, which has the largest effect. */
	.seconds = 0.1,
	.rounds = 15,
	.run = run_fuse,
};
