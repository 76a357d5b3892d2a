#ifndef LIB_OS_FILE_H
#define LIB_OS_FILE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The few files that are not databases. Errors name the path. */

/* Appends the whole file to b; its ceiling is the limit (ERR_TOOBIG). A pipe is
 * rejected: skepd's loop must not wait for a writer. */
int file_read(const char *path, struct buf *b, struct err *e);

/* The same, but also reads a pipe and waits for its writer. */
int file_read_waiting(const char *path, struct buf *b, struct err *e);

/* Reads fd to its end. `what` is named in errors. */
int file_read_fd(int fd, const char *what, struct buf *b, struct err *e);

/* Writes all n bytes, handling short writes and EINTR. */
int file_write_fd(int fd, const char *what, const void *p, size_t n,
		  struct err *e);

/* Syncs the directory of a new or renamed file. */
int file_sync_parent(const char *path, struct err *e);

/* Creates a directory with its missing parents, each with `mode` and on disk.
 * An existing directory keeps its mode. */
int file_make_dir(const char *path, mode_t mode, struct err *e);

/* The name of the network filesystem that path is on ("nfs", "smb", "9p", …),
 * or NULL. If the path does not exist, its nearest existing parent counts. */
const char *file_network_fs(const char *path);

int64_t file_size(const char *path); /* -1 if it cannot be determined */
bool file_exists(const char *path);

#endif
