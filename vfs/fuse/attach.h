#ifndef VFS_FUSE_ATTACH_H
#define VFS_FUSE_ATTACH_H

#include "lib/base/err.h"
#include "vfs/fuse/mount.h"

#include <sys/types.h>

/*
 * A namespace has one server. A further mount of it shows the tree of the first
 * one, so that all of them have the same files, appends and locks.
 */
struct vfs;

/* The source of a mount, as /proc/self/mountinfo shows it. */
#define MOUNT_SOURCE "skep:%s:%ld" /* name of the namespace, server's pid */

/* Also mounts the tree that process `server` serves at o->dir, and waits. 0: it
 * was unmounted, or a signal arrived. 1: the server has exited, and nothing is
 * mounted here. -1: the mount cannot be reached (ERR_BUSY, which names the
 * process), or another failure. */
int attach_mount(struct vfs *v, const struct vfs_mount_options *o, pid_t server,
		 struct err *e);

/* A run that uses the mount of this process at another path than `dir`: its
 * process, 0 if there is none. (Copies at the same path are unmounted with the
 * mount.) */
pid_t attach_run(const struct vfs *v, const char *dir);

#endif
