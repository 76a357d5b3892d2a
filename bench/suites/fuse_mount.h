#ifndef BENCH_SUITES_FUSE_MOUNT_H
#define BENCH_SUITES_FUSE_MOUNT_H

#include "bench/bench.h"
#include "lib/base/err.h"

#include <sys/types.h>

/* Mounts that a process serves, for the benchmark fuse. */
pid_t fuse_mount_ours(const char *home, const char *dir,
		      struct err *e); /* a new namespace; -1 */
/* bindfs of an empty directory on another; -1 if there is no bindfs. */
pid_t fuse_mount_bindfs(const char *from, const char *dir);
void fuse_mount_end(pid_t pid, const char *dir); /* pid may be -1 */

/* Reading without the kernel's cache, on ours (first) and, if there are two
 * sides, on bindfs. Each directory is empty. */
int fuse_read(struct bench_run *r, const char *const dirs[2], int sides,
	      struct err *e);
/* A build on ours (first) and on the disk. */
int fuse_make(struct bench_run *r, const char *const dirs[2], struct err *e);

/* Writes one large file on a separate mount and reads it again: the peak memory
 * of the server meanwhile. */
int fuse_big_file(struct bench_run *r, int64_t mb, struct err *e);

#endif
