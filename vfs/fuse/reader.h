#ifndef VFS_FUSE_READER_H
#define VFS_FUSE_READER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A thread's own connection for reading, so that several threads can answer
 * requests at once. It sees what is committed. Before each request it checks,
 * under the lock of the mount, that the open batch has not changed the node,
 * and that no commit came after its transaction began (mnt.epoch). Requests
 * that it does not serve go the usual way, through the connection of the mount.
 */
struct mnt;
struct reader;

/* NULL if no further connection is possible. Borrows m. */
struct reader *reader_open(struct mnt *m);
void reader_close(struct reader *r); /* NULL is fine */

/* Serves the request, or returns false. Call it without the lock. */
bool reader_serve(struct reader *r, const void *request, size_t n);
/* Ends its transaction. Call it before waiting: an open one keeps the log from
 * being reset. NULL is fine. */
void reader_rest(struct reader *r);

#endif
