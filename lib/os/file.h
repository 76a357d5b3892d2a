#ifndef LIB_OS_FILE_H
#define LIB_OS_FILE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The few files that are not databases. Errors name the path. */

/* Appends the whole file to b; its ceiling is the limit (ERR_TOOBIG). A pipe is
 * refused: skepd's loop must not wait for a writer. */
int file_read(const char *path, struct buf *b, struct err *e);

/* The same, also from a pipe, for whose writer it waits. */
int file_read_waiting(const char *path, struct buf *b, struct err *e);

/* Everything that can be read from fd, to its end. `what` is named in errors. */
int file_read_fd(int fd, const char *what, struct buf *b, struct err *e);

/* All n bytes, over short writes and EINTR. */
int file_write_fd(int fd, const char *what, const void *p, size_t n,
		  struct err *e);

/* The file has the old content or the new, never half, also after power loss:
 * a temporary file beside it, fsync, rename, fsync of the directory. */
int file_write_atomic(const char *path, const void *p, size_t n, mode_t mode,
		      struct err *e);

/* The name of a new or renamed file is on the disk. */
int file_sync_parent(const char *path, struct err *e);

/* Makes a directory with its missing parents, each with `mode` and on the disk;
 * one that is there already is fine and keeps its mode. */
int file_make_dir(const char *path, mode_t mode, struct err *e);

/* The name of the network filesystem that path is on ("nfs", "smb", "9p", …),
 * or NULL. For a path that does not exist its nearest parent counts. */
const char *file_network_fs(const char *path);

int64_t file_size(const char *path); /* -1 if it cannot be told */
bool file_exists(const char *path);

#endif
