#ifndef TESTS_SUPPORT_RECORD_VFS_H
#define TESTS_SUPPORT_RECORD_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A SQLite VFS over the default one that records every write, truncation, sync
 * and deletion of database files and logs, so that a test can put on the disk
 * what a power failure at any moment might have left: all that was synced, and
 * of the rest any part, sector by sector. The -shm is memory and not recorded.
 */
void record_install(void); /* becomes the default VFS */
void record_start(void);
void record_stop(void);
size_t record_count(void); /* operations so far: a moment */
void record_free(void);

/*
 * Writes into the directory `path`, under their base names, the files as a
 * failure after the first `cut` operations may leave them. `seed` chooses which
 * unsynced operations are there; 0: none of them.
 */
void record_replay(const char *path, size_t cut, uint64_t seed);

#endif
