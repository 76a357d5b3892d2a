#ifndef LIB_OS_HELD_H
#define LIB_OS_HELD_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Files that this process has open through SQLite. POSIX locks belong to the
 * process: closing any descriptor of a database or of its -shm releases all
 * locks that its connections hold, and the log is no longer safe. Open a path
 * that a user or an agent has chosen with held_open, which rejects such a file.
 */
struct held {
	const void *owner; /* a connection; NULL: none */
	dev_t dev;
	ino_t ino;
};
void held_add(const struct held *h);
struct held held_of(const void *owner);
void held_remove(const struct held *h);

/* Whether the path is such a file, or the -shm of one. */
bool held_refuses(int dir, const char *path);

/* openat(2); -1 with errno EBUSY for such a file. */
int held_open(int dir, const char *path, int flags);

#endif
