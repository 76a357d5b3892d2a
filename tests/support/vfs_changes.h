#ifndef TESTS_SUPPORT_VFS_CHANGES_H
#define TESTS_SUPPORT_VFS_CHANGES_H

#include "tests/support/vfs_test.h"

#include <stddef.h>

/*
 * Every kind of change that a workspace can undergo, on a file in which each
 * has something to do: namespaces main, its fork "twin", and "scratch" over a
 * host directory.
 */
struct vfs_case {
	const char *name;
	int (*run)(struct vfs_test *t, struct err *e);
};

extern const struct vfs_case vfs_cases[];
extern const size_t vfs_cases_n;

void vfs_cases_inputs(void); /* once in a process, before the rest */
void vfs_cases_done(void);
void vfs_case_begin(struct vfs_test *t); /* instead of vfs_test_begin */

/* What is in all namespaces, with their snapshots; the caller frees it. */
char *vfs_case_picture(struct vfs_test *t);

#endif
