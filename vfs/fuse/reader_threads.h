#ifndef VFS_FUSE_READER_THREADS_H
#define VFS_FUSE_READER_THREADS_H

#include "vfs/fuse/internal.h"

#include <stdbool.h>

/*
 * Threads that help to serve a mount. They sleep while one thread suffices:
 * with one client, passing a request on would cost more than answering it.
 * When requests that read wait, helpers are woken; one to which nothing comes
 * for some milliseconds sleeps again.
 */
struct helpers;
struct reader;

/* One thread that serves. */
struct server {
	struct mnt *m;
	struct reader *reader; /* NULL: it uses the connection of the mount */
	struct fuse_buf request;
	int events; /* epoll, for the device */
};

int server_init(struct server *s, struct mnt *m); /* -1 with errno */
void server_fini(struct server *s);
/* Takes a request if there is one: 1; 0, or -1 at the end of the mount. */
int server_take(struct server *s);
void server_answer(struct server *s); /* what was taken */
bool server_took_read(const struct server *s);
/* Waits for a request. Of all threads that wait, the kernel wakes one, the main
 * thread first. False when the time is over. */
bool server_wait(struct server *s, int ms);

/* `always`: so many helpers that do not sleep; 0: as the machine allows. */
struct helpers *helpers_start(struct mnt *m, int always);
void helpers_stop(struct helpers *h); /* NULL is fine */
void helpers_wake(struct helpers *h); /* a request that reads waits */
bool helpers_awake(const struct helpers *h);

#endif
