#ifndef VFS_FUSE_MOUNT_H
#define VFS_FUSE_MOUNT_H

#include "lib/base/err.h"

#include <stdbool.h>

/*
 * A namespace as a mounted filesystem (FUSE). One thread serves it with the
 * connection of the vfs; when requests wait, other threads read as well, each
 * with its own connection. Changes are committed together: after 256 of them,
 * after 5 ms, or at an fsync, which returns when they are on disk. Changes of
 * other processes in the namespace become visible within 50 ms.
 *
 * A namespace has one server. If there already is one, its tree is mounted at
 * the directory as well (attach.h), or the call fails with ERR_BUSY and names
 * it. Servers with the option `shared` may serve it at the same time: the kernel
 * then caches nothing, and a file that one of them has closed is seen by the
 * others at the next open.
 *
 * Requires /dev/fuse and the right to mount: root, fusermount3, or a user and mount
 * namespace. When the server dies, for whatever reason, a small guardian
 * process unmounts it.
 */
struct vfs;

struct vfs_mount_options {
	const char *dir; /* an existing directory */
	bool allow_other;
	bool dev_suid; /* device nodes and set-id programs work */
	bool shared;   /* beside other servers of the namespace */
	/* The mount namespace ends with the processes that use the mount. A
	 * dead mount then stays, so that none of them reaches the directory
	 * below it; there is no guardian. */
	bool own_namespace;
	/* Fixed number of helper threads; 0: as many as the machine has use
	 * for, and only when requests wait. */
	int helpers;
	/* Called once it is mounted, before there are threads: the place to
	 * drop privileges. -1 unmounts it again. May be NULL. */
	int (*mounted)(void *arg, struct err *e);
	/* Called once, when the mount can be used. May be NULL. */
	void (*ready)(void *arg);
	void *arg;
};

/* Serves until it is unmounted, or SIGTERM, SIGINT or SIGHUP arrives. */
int vfs_mount(struct vfs *v, const struct vfs_mount_options *o, struct err *e);

/* Whether this machine can mount; ERR_UNSUPPORTED names what is missing. */
int vfs_mount_check(struct err *e);

/* Unmounts a mount of ours, even if its process is dead. */
int vfs_unmount(const char *dir, struct err *e);

#endif
