#ifndef VFS_FUSE_READER_THREADS_H
#define VFS_FUSE_READER_THREADS_H

#include "vfs/fuse/internal.h"

#include <stdbool.h>

/*
 * Threads that help to serve a mount. They sleep while one thread suffices:
 * with one client, passing a request on would cost more than serving it. When
 * read requests wait, helpers are woken; a helper without a request for some
 * milliseconds sleeps again.
 */
struct helpers;
struct reader;

/* One serving thread. */
struct server {
	struct mnt *m;
	struct reader *reader; /* NULL: it uses the connection of the mount */
	struct fuse_buf request;
	int events; /* epoll, for the device */
};

int server_init(struct server *s, struct mnt *m); /* -1 with errno */
void server_fini(struct server *s);
/* Receives a request if there is one: 1; 0, or -1 at the end of the mount. */
int server_take(struct server *s);
void server_answer(struct server *s); /* serves what was received */
bool server_took_read(const struct server *s);
/* Waits for a request. Of all waiting threads the kernel wakes one, the main
 * thread first. False after the time-out. */
bool server_wait(struct server *s, int ms);

/* `always`: this many helpers that do not sleep; 0: as the machine allows. */
struct helpers *helpers_start(struct mnt *m, int always);
void helpers_stop(struct helpers *h); /* NULL is fine */
void helpers_wake(struct helpers *h); /* a read request waits */
bool helpers_awake(const struct helpers *h);

#endif
