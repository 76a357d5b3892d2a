#ifndef VFS_FUSE_FUSERMOUNT_H
#define VFS_FUSE_FUSERMOUNT_H

#include "lib/base/err.h"

/*
 * fusermount3, the set-user-ID program of libfuse: it mounts and unmounts for
 * users who are not root. Options are those of `fusermount3 -o`.
 */

/* The descriptor of the mount, or -1. ERR_UNSUPPORTED names what is missing. */
int fusermount_mount(const char *dir, const char *options, struct err *e);

/* Unmounts a mount of this user, now or when it is no longer used. */
int fusermount_unmount(const char *dir, struct err *e);

#endif
