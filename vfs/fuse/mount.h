#ifndef VFS_FUSE_MOUNT_H
#define VFS_FUSE_MOUNT_H

#include "lib/base/err.h"

#include <stdbool.h>

/*
 * A namespace as a mounted filesystem (FUSE). One thread serves it, with the
 * connection of the vfs; when requests wait, other threads read as well, each
 * with a connection of its own. Changes are committed together: after 256 of them,
 * after 5 ms, or at an fsync, which is answered when they are on the disk.
 * What other processes do in the namespace shows up within 50 ms.
 *
 * A namespace has one server. If there is one already, its mount appears at the
 * directory as well (attach.h), or the call fails with ERR_BUSY and names it.
 *
 * Needs /dev/fuse and the right to mount: root, or a user and mount namespace
 * of one's own. When the server dies, however that happens, a small guardian
 * process removes the mount.
 */
struct vfs;

struct vfs_mount_options {
	const char *dir; /* an existing directory */
	bool allow_other;
	bool dev_suid; /* device nodes and set-id programs work */
	/* The mount namespace ends with the processes that use the mount. A
	 * dead mount then stays, so that none of them reaches the directory
	 * below it; there is no guardian. */
	bool own_namespace;
	/* How many threads help the first one, always; 0: as many as the
	 * machine has use for, and only when requests wait. */
	int helpers;
	/* Called once the mount is there, before there are threads: the place
	 * to give up rights. -1 takes the mount away again. May be NULL. */
	int (*mounted)(void *arg, struct err *e);
	/* Called once, when the mount can be used. May be NULL. */
	void (*ready)(void *arg);
	void *arg;
};

/* Serves until somebody unmounts, or a SIGTERM, SIGINT or SIGHUP comes. */
int vfs_mount(struct vfs *v, const struct vfs_mount_options *o, struct err *e);

/* Whether this machine can mount at all; ERR_UNSUPPORTED says what is missing. */
int vfs_mount_check(struct err *e);

/* Takes a mount of ours away, also one whose process is dead. */
int vfs_unmount(const char *dir, struct err *e);

#endif
