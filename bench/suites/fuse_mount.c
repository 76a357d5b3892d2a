#include "bench/suites/fuse_mount.h"

#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/core/vfs.h"
#include "vfs/fuse/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void report_ready(void *arg)
{
	if (write(*(int *)arg, "", 1) != 1)
		_exit(1);
}

static int serve_mount(const char *home, const char *dir, int ready)
{
	struct vfs_mount_options o = {
		.dir = dir, .ready = report_ready, .arg = &ready};
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

pid_t fuse_mount_ours(const char *home, const char *dir, struct err *e)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	pid = fork();
	if (pid == 0)
		_exit(serve_mount(home, dir, ends[1]) ? 1 : 0);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &c, 1) != 1)
		pid = err_set(e, ERR_UNSUPPORTED, "the mount did not start");
	close(ends[0]);
	return pid;
}

pid_t fuse_mount_bindfs(const char *from, const char *dir)
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

void fuse_mount_end(pid_t pid, const char *dir)
{
	struct err ignored;

	if (pid <= 0)
		return;
	if (vfs_unmount(dir, &ignored))
		kill(pid, SIGTERM);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
