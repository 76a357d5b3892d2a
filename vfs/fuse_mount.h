#ifndef VFS_FUSE_MOUNT_H
#define VFS_FUSE_MOUNT_H

#include "base/err.h"
#include "vfs/mount.h"

#include <sys/types.h>

/* The mount(2) part, without libfuse's helper program; and the guardian that
 * takes the mount away when the process that serves it is gone. */
struct vfs;

struct guard {
	pid_t pid;
	int pipe; /* its end says that we are gone */
};

int fuse_mount_open(const struct vfs_mount_options *o, const struct vfs *v,
		    struct guard *g, struct err *e); /* the fd, or -1 */
void fuse_mount_close(const struct vfs_mount_options *o, struct guard *g);

#endif
