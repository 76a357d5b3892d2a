#ifndef TESTS_SUPPORT_VFS_TEST_H
#define TESTS_SUPPORT_VFS_TEST_H

#include "tests/support/temp.h"

#include "vfs/core/node.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"

#include <stdint.h>

/* An agent file of its own with a namespace "main", for one test. Functions
 * fail the test by themselves. */
struct sql;

struct vfs_test {
	struct temp dir;
	struct sql *db;
	struct vfs *v;
};

void vfs_test_begin(struct vfs_test *t);
void vfs_test_end(struct vfs_test *t); /* checks the invariants, too */
struct sql *vfs_test_connect(struct vfs_test *t); /* another process's view */

/* Fails with the text of the error unless rc is 0. */
void assert_ok(int rc, const struct err *e);

void put(struct vfs *v, const char *path, const char *text);
void expect(struct vfs *v, const char *path, const char *text);
void expect_missing(struct vfs *v, const char *path);
struct vfs_attr stat_of(struct vfs *v, const char *path);

/* Numbers out of the tables, by literal SQL. */
int64_t number(struct sql *db, const char *query);

/* The tree as text: one line per node with everything that can be seen. */
char *picture(struct vfs *v); /* the caller frees it */

#endif
