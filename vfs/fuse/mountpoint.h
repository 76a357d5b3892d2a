#ifndef VFS_FUSE_MOUNTPOINT_H
#define VFS_FUSE_MOUNTPOINT_H

#include "lib/base/err.h"
#include "vfs/fuse/mount.h"

#include <stdint.h>
#include <sys/types.h>

/* The mount(2) part, or fusermount3 for other users than root, and the guardian: a
 * process that unmounts when the server ends for whatever reason. It compares
 * mount IDs first, so that it never removes another mount on the same
 * directory. */
struct vfs;

struct guard {
	pid_t pid; /* 0: there is none */
	int pipe;  /* has the mount's ID; closed when the server ends */
};

int fuse_mount_open(const struct vfs_mount_options *o, const struct vfs *v,
		    struct guard *g, struct err *e); /* the fd, or -1 */
/* Call it after the fd is closed: waits until the guardian has unmounted. */
void fuse_mount_close(struct guard *g);

/* Identifies the mount at a path; 0 if it cannot be read. */
uint64_t fuse_mount_id(const char *dir);

#endif
