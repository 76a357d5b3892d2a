#ifndef VFS_FUSE_READER_H
#define VFS_FUSE_READER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A connection of a thread for reading, so that several threads can answer
 * requests at once. It sees committed data. Before each request it checks,
 * under the lock of the mount, that the open batch has not changed the node,
 * and that no commit came after its transaction began (mnt.epoch). Other
 * requests use the connection of the mount.
 */
struct mnt;
struct reader;

/* NULL if no further connection is possible. Borrows m. */
struct reader *reader_open(struct mnt *m);
void reader_close(struct reader *r); /* accepts NULL */

/* Serves the request, or returns false. Call it without the lock. */
bool reader_serve(struct reader *r, const void *request, size_t n);
/* Ends its transaction. Call it before waiting: an open one keeps the log from
 * being reset. Accepts NULL. */
void reader_rest(struct reader *r);
/* Whether its transaction began before the last commit. Needs the lock. */
bool reader_is_old(const struct reader *r);

#endif
