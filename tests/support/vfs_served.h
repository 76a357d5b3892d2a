#ifndef TESTS_SUPPORT_VFS_SERVED_H
#define TESTS_SUPPORT_VFS_SERVED_H

#include "tests/support/vfs_test.h"

#include <stdbool.h>
#include <sys/types.h>

/* The test's namespace on a mount that a process of its own serves. */

bool served_possible(void); /* else it has said why not */
/* The server's pid, or -1. `helpers` as in vfs/fuse/mount.h. */
pid_t served_start(struct vfs_test *t, const char *dir, int helpers);
void served_end(pid_t pid); /* fails the test unless it ends well */

#endif
