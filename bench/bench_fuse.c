/* The mount beside bindfs and the disk. */
#include "bench/bench.h"
#include "bench/tree.h"
#include "db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/mount.h"
#include "vfs/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell_ready(void *arg)
{
	if (write(*(int *)arg, "", 1) != 1)
		_exit(1);
}

static int serve(const char *home, const char *dir, int ready)
{
	struct vfs_mount_options o = {
		.dir = dir, .ready = tell_ready, .arg = &ready};
	struct sql *db;
	struct vfs *v;
	char path[4096];
	struct err e = {0};
	int rc;

	snprintf(path, sizeof path, "%s/agent.sqlite", home);
	rc = db_open(&db, path, &agent_schema, SQL_CREATE, &e) ||
	     vfs_create(db, "main", NULL, &e) ||
	     vfs_open(&v, db, "main", "bench", &e) || vfs_mount(v, &o, &e);
	if (rc)
		fprintf(stderr, "skep-bench: %s\n", e.text);
	return rc;
}

static pid_t mount_ours(const char *home, const char *dir, struct err *e)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	pid = fork();
	if (pid == 0)
		_exit(serve(home, dir, ends[1]) ? 1 : 0);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &c, 1) != 1)
		pid = err_set(e, ERR_UNSUPPORTED, "the mount did not start");
	close(ends[0]);
	return pid;
}

/* bindfs of an empty directory on another; -1 if there is no bindfs. */
static pid_t mount_bindfs(const char *from, const char *dir)
{
	struct stat before, now;
	pid_t pid;

	if (stat(dir, &before))
		return -1;
	pid = fork();
	if (pid == 0) {
		execlp("bindfs", "bindfs", "-f", from, dir, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; pid > 0 && i < 200; i++) {
		if (!stat(dir, &now) && now.st_dev != before.st_dev)
			return pid;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return -1;
		usleep(10000);
	}
	return -1;
}

static void unmount(pid_t pid, const char *dir)
{
	struct err ignored;

	if (pid <= 0)
		return;
	if (vfs_unmount(dir, &ignored))
		kill(pid, SIGTERM);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int run(struct bench_run *r, struct err *e)
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
	ours = mount_ours(bench_dir(r, "home"), sides[0].dir, e);
	if (ours < 0)
		return -1;
	bindfs = mount_bindfs(bench_dir(r, "below"), sides[2].dir);
	if (bindfs < 0)
		bench_say(r, "bindfs is not there: apt install bindfs");
	rc = tree_bench(r, sides, bindfs < 0 ? 2 : 3, "fuse_", e);
	unmount(ours, sides[0].dir);
	unmount(bindfs, sides[2].dir);
	return rc;
}

const struct bench bench_fuse = {
	.name = "fuse",
	.help = "files on the mount, beside bindfs and the disk",
	.about = "The same operations as `vfs`, by system calls on a mounted "
		 "namespace, on bindfs and on the\ndisk itself. Needs root, or "
		 "a user and mount namespace of one's own.",
	.seconds = 0.3,
	.rounds = 5,
	.run = run,
};
