#ifndef DB_WAL_VFS_H
#define DB_WAL_VFS_H

/*
 * A SQLite VFS that writes the frames of a commit with one call. SQLite writes
 * a WAL frame as two pieces, 24 bytes of header and a page, so a small commit is
 * half a dozen system calls, and these are most of its cost. Here the pieces of
 * one transaction are gathered and written when its last frame is complete: the
 * header of that frame says so. Until then nobody but this connection can want
 * them, and before anything else happens to the file (a read, a sync, a write
 * elsewhere) they are written first. A write that fails is reported by the very
 * call that completes the commit.
 *
 * Everything but the -wal files goes to the VFS that was the default one before.
 */

/* Registers it on first use; its name, for sqlite3_open_v2. */
const char *wal_vfs_name(void);

#endif
