#ifndef TESTS_SUPPORT_FAULT_VFS_H
#define TESTS_SUPPORT_FAULT_VFS_H

#include <stdbool.h>

/*
 * A SQLite VFS over the default one that fails, or kills the process, at the
 * n-th write, sync, truncate or file-size change; and an allocator that fails
 * the n-th allocation inside SQLite. The loop of a test:
 *
 *   for (int n = 1, fired = 1; fired; n++) {
 *           fault_arm(n, FAULT_IOERR); …the operation…; fired = fault_fired();
 *           fault_disarm(); …all or nothing, and a retry succeeds…
 *   }
 */
enum fault_kind {
	FAULT_IOERR, /* the write fails */
	FAULT_FULL,  /* the disk is full */
	FAULT_SHORT, /* half of the bytes are written, then it fails */
	FAULT_DIE,   /* _exit(9) before the write */
	FAULT_NOMEM, /* counts allocations instead of writes */
};

/* Both before the first use of SQLite in the process. The VFS becomes the
 * default one. */
void fault_vfs_install(void);
void fault_malloc_install(void);

void fault_arm(int nth, enum fault_kind kind);
void fault_disarm(void);
bool fault_fired(void);

#define FAULT_DIED 9 /* exit status of FAULT_DIE */

#endif
