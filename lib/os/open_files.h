#ifndef LIB_OS_OPEN_FILES_H
#define LIB_OS_OPEN_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Files that this process has open through SQLite. POSIX locks belong to the
 * process: closing any descriptor of a database or of its -shm releases all
 * locks that its connections hold, and the log is no longer safe. Open a path
 * that a user or an agent has chosen with open_files_openat, which rejects such a file.
 */
struct open_file {
	const void *owner; /* a connection; NULL: none */
	dev_t dev;
	ino_t ino;
};
void open_files_add(const struct open_file *h);
struct open_file open_files_find(const void *owner);
void open_files_remove(const struct open_file *h);

/* Whether the path is such a file, or the -shm of one. */
bool open_files_contain(int dir, const char *path);

/* openat(2); -1 with errno EBUSY for such a file. */
int open_files_openat(int dir, const char *path, int flags);

#endif
