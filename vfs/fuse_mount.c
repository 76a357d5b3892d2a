#include "vfs/fuse_mount.h"

#include "vfs/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICE           "/dev/fuse"
#define FUSE_SUPER_MAGIC 0x65735546

int vfs_mount_check(struct err *e)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "a mount needs " DEVICE ": %s", strerror(errno));
	close(fd);
	return 0;
}

static bool is_dead_mount(const char *dir)
{
	struct stat st;

	return stat(dir, &st) && errno == ENOTCONN;
}

int vfs_unmount(const char *dir, struct err *e)
{
	if (umount2(dir, 0) == 0 ||
	    (errno == EBUSY && umount2(dir, MNT_DETACH) == 0))
		return 0;
	if (errno == EINVAL)
		return err_set(e, ERR_NOTFOUND, "nothing is mounted on %s",
			       dir);
	return err_errno_set(e, "cannot unmount %s", dir);
}

/* The pipe ends a moment before the mount is dead, and a new mount on the same
 * directory is none of our business: only a dead one is taken away. */
static void take_away(const char *dir)
{
	for (int i = 0; i < 500; i++) {
		struct statfs st;

		if (statfs(dir, &st) == 0) {
			if (st.f_type != FUSE_SUPER_MAGIC)
				return;
		} else if (errno == ENOTCONN) {
			umount2(dir, MNT_DETACH);
		}
		usleep(10000);
	}
}

/* Waits until everybody who has the other end of the pipe is gone; a byte says
 * that the mount shall go now, by one who has given up the right to do it. */
static void guard_run(int fd, const char *dir)
{
	ssize_t n;
	char c;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "skep-guard");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	do
		n = read(fd, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		umount2(dir, MNT_DETACH);
	else
		take_away(dir);
	_exit(0);
}

static int guard_start(const char *dir, struct guard *g, struct err *e)
{
	char full[PATH_MAX];
	int ends[2];

	if (!realpath(dir, full))
		return err_errno_set(e, "%s", dir);
	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "cannot make a pipe");
	g->pid = fork();
	if (g->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_errno_set(e, "cannot start the guardian");
	}
	if (g->pid == 0) {
		/* nothing of ours may stay open there, the database least */
		if (ends[0] != 0)
			dup2(ends[0], 0);
		close_range(1, ~0U, 0);
		guard_run(0, full);
	}
	close(ends[0]);
	g->pipe = ends[1];
	return 0;
}

static int mount_it(const struct vfs_mount_options *o, const struct vfs *v,
		    int fd, struct err *e)
{
	unsigned long flags = o->dev_suid ? 0 : MS_NODEV | MS_NOSUID;
	char data[256], source[128];

	if (vfs_is_readonly(v))
		flags |= MS_RDONLY;
	snprintf(source, sizeof source, "skep:%s", vfs_name(v));
	snprintf(data, sizeof data,
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,"
		 "default_permissions%s",
		 fd, (unsigned)getuid(), (unsigned)getgid(),
		 o->allow_other ? ",allow_other" : "");
	if (mount(source, o->dir, "fuse.skep", flags, data) == 0)
		return 0;
	if (errno == EPERM)
		return err_set(e, ERR_UNSUPPORTED,
			       "mounting on %s needs root, or a user and mount "
			       "namespace of one's own (unshare -rm)",
			       o->dir);
	return err_errno_set(e, "cannot mount on %s", o->dir);
}

int fuse_mount_open(const struct vfs_mount_options *o, const struct vfs *v,
		    struct guard *g, struct err *e)
{
	int fd;

	if (is_dead_mount(o->dir))
		umount2(o->dir, MNT_DETACH);
	if (guard_start(o->dir, g, e))
		return -1;
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err_set(e, ERR_UNSUPPORTED, "a mount needs " DEVICE ": %s",
			strerror(errno));
	else if (mount_it(o, v, fd, e) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	fuse_mount_close(NULL, g);
	return -1;
}

void fuse_mount_close(const struct vfs_mount_options *o, struct guard *g)
{
	/* busy or taken away already: both are fine */
	if (o)
		(void)!write(g->pipe, "", 1);
	close(g->pipe);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
