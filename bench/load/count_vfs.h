#ifndef BENCH_LOAD_COUNT_VFS_H
#define BENCH_LOAD_COUNT_VFS_H

#include <stdint.h>

/* Counts SQLite's calls to the disk: a VFS over the default one. It becomes the
 * default VFS of the process, so all connections are counted. */
struct disk_counts {
	int64_t wal_pages; /* frames written to a WAL */
	int64_t db_pages;  /* pages written to a database by checkpoints */
	int64_t bytes;
	int64_t syncs;
};

void count_vfs_install(void); /* once, before the first connection */
struct disk_counts count_vfs_now(void);
struct disk_counts count_vfs_since(struct disk_counts before);

#endif
