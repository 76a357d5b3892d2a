#include "vfs/fuse/mountpoint.h"

#include "lib/base/text.h"
#include "vfs/core/vfs.h"
#include "vfs/fuse/attach.h"
#include "vfs/fuse/fusermount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICE        "/dev/fuse"
#define READ_AHEAD_KB "4096"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U /* Linux 6.8 */
#endif

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
	if (errno == EPERM && geteuid() != 0)
		return fusermount_unmount(dir, e);
	return err_errno_set(e, "cannot unmount %s", dir);
}

/* A dead mount, also one of another user than root. */
static void detach_mount(const char *dir)
{
	struct err ignored;

	if (umount2(dir, MNT_DETACH) && errno == EPERM && geteuid() != 0)
		(void)fusermount_unmount(dir, &ignored);
}

/* The ID of the mount at a path, 0 if it cannot be read. The kernel returns it
 * without asking the server. Before Linux 6.8, IDs are reused after an unmount;
 * therefore only a dead mount is ever removed. */
uint64_t fuse_mount_id(const char *dir)
{
	struct statx x;

	if (statx(AT_FDCWD, dir, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_MNT_ID | STATX_MNT_ID_UNIQUE, &x))
		return 0;
	return x.stx_mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE) ? x.stx_mnt_id
								 : 0;
}

/* Removes mount `id` from the directory after its server has exited. The pipe
 * may close just before the connection does. */
static void remove_dead_mount(const char *dir, uint64_t id)
{
	for (int i = 0; i < 500 && id && fuse_mount_id(dir) == id; i++) {
		struct statfs st;

		if (statfs(dir, &st) && errno == ENOTCONN)
			detach_mount(dir);
		else
			usleep(10000);
	}
}

/* The server writes the ID of its mount. The end of the pipe means that the
 * server has exited. */
static void guard_run(int fd, const char *dir)
{
	uint64_t id = 0, next;
	ssize_t n;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "skep-guard");
	if (geteuid() == 0) /* others need fusermount3 to unmount */
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	do {
		n = read(fd, &next, sizeof next);
		if (n == (ssize_t)sizeof next)
			id = next;
	} while (n > 0 || (n < 0 && errno == EINTR));
	remove_dead_mount(dir, id);
	_exit(0);
}

static int guard_start(const char *dir, struct guard *g, struct err *e)
{
	char full[PATH_MAX];
	int ends[2];

	if (!realpath(dir, full))
		return err_errno_set(e, "%s", dir);
	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "cannot create a pipe");
	g->pid = fork();
	if (g->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_errno_set(e, "cannot start the unmount guard");
	}
	if (g->pid == 0) {
		/* nothing of ours may stay open there, least of all the
		 * database */
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
	char data[256], source[256];

	if (vfs_is_readonly(v))
		flags |= MS_RDONLY;
	snprintf(source, sizeof source, MOUNT_SOURCE, vfs_name(v),
		 (long)getpid());
	snprintf(data, sizeof data,
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,"
		 "default_permissions%s",
		 fd, (unsigned)getuid(), (unsigned)getgid(),
		 o->allow_other ? ",allow_other" : "");
	if (mount(source, o->dir, "fuse.skep", flags, data) == 0)
		return 0;
	return err_errno_set(e, "cannot mount on %s", o->dir);
}

/* Opens the device and mounts: the descriptor, or -1. `may` is false if this is
 * not permitted. */
static int mount_self(const struct vfs_mount_options *o, const struct vfs *v,
		      bool *may, struct err *e)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	*may = fd >= 0 || errno != EACCES;
	if (fd < 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "a mount needs " DEVICE ": %s", strerror(errno));
	if (mount_it(o, v, fd, e) == 0)
		return fd;
	*may = errno != EPERM;
	close(fd);
	return -1;
}

static int mount_by_helper(const struct vfs_mount_options *o,
			   const struct vfs *v, struct err *e)
{
	char options[512], source[256];

	text_printf(source, sizeof source, MOUNT_SOURCE, vfs_name(v),
		    (long)getpid());
	text_printf(
		options, sizeof options,
		"%s,nosuid,nodev,subtype=skep,fsname=%s,default_permissions%s",
		vfs_is_readonly(v) ? "ro" : "rw", source,
		o->allow_other ? ",allow_other" : "");
	return fusermount_mount(o->dir, options, e);
}

static int mount_anyhow(const struct vfs_mount_options *o, const struct vfs *v,
			struct err *e)
{
	bool may;
	int fd = mount_self(o, v, &may, e);

	if (fd >= 0 || may || o->own_namespace || geteuid() == 0)
		return fd;
	return mount_by_helper(o, v, e);
}

/* The kernel reads 128 KiB ahead by default. Requests of 1 MiB cost a fifth
 * less, and four of them keep several threads busy. Only root may set it; other
 * users keep the default. */
static void read_ahead(const char *dir)
{
	char path[64];
	struct statx x;
	int fd;

	if (statx(AT_FDCWD, dir, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_TYPE, &x))
		return;
	snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb",
		 x.stx_dev_major, x.stx_dev_minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, READ_AHEAD_KB, strlen(READ_AHEAD_KB));
	close(fd);
}

int fuse_mount_open(const struct vfs_mount_options *o, const struct vfs *v,
		    struct guard *g, struct err *e)
{
	int fd;

	if (is_dead_mount(o->dir))
		detach_mount(o->dir);
	*g = (struct guard){.pipe = -1};
	if (!o->own_namespace && guard_start(o->dir, g, e))
		return -1;
	fd = mount_anyhow(o, v, e);
	if (fd >= 0) {
		uint64_t id = fuse_mount_id(o->dir);

		if (!o->mounted) /* a run's server writes nothing there */
			read_ahead(o->dir);
		if (g->pid)
			(void)!write(g->pipe, &id, sizeof id);
		return fd;
	}
	fuse_mount_close(g);
	return -1;
}

void fuse_mount_close(struct guard *g)
{
	if (!g->pid)
		return;
	close(g->pipe);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
