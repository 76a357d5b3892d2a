#ifndef OPS_MAINTAIN_WAL_READERS_H
#define OPS_MAINTAIN_WAL_READERS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

/*
 * The current readers of a database. A reader that runs for long prevents the
 * write-ahead log from being reused, so the log grows without limit. The kernel
 * knows which process has which lock on the -shm file, and the file states how
 * far each reader reads, but not since when. So each scan records what it saw: a
 * reader that is seen again at the same position has read at least since then.
 */
#define WAL_READER(F, S)                                              \
	F(S, text, path)                                              \
	F(S, i64, pid) /* 0: in another container */                  \
	F(S, text, program)                                           \
	F(S, i64, pinned_frames) /* written since, and held back */   \
	F(S, i64, age_ms)        /* it has read at least this long */ \
	F(S, i64, process_ms)    /* and at most this long */
SHAPE_DECLARE(wal_reader, WAL_READER);

struct wal_readers;

/* A scan of the machine, for any number of databases: reading the kernel's list
 * costs milliseconds. `notes` is a file of earlier scans; NULL: none. */
struct wal_readers *wal_readers_scan(const char *notes);

/* Readers of the database at path, except for this process, as an array in the
 * arena; returns their number, and 0 if the kernel does not list them. */
int wal_readers_of(struct wal_readers *r, const char *path,
		   struct wal_reader **out, struct arena *a);

/* Records what wal_readers_of has found, for later scans. */
int wal_readers_save(const struct wal_readers *r, struct err *e);
void wal_readers_free(struct wal_readers *r); /* accepts NULL */

#endif
