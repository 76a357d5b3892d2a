#ifndef VFS_FUSE_READER_THREADS_H
#define VFS_FUSE_READER_THREADS_H

#include "vfs/fuse/internal.h"
#include "vfs/fuse/placement.h"

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
	bool reads;            /* with its reader, beside other threads */
	struct fuse_buf request;
	pid_t client;  /* thread that sent the last request */
	uint64_t node; /* of the last request */
	uint32_t opcode;
	int events; /* epoll, for the device */
	struct placement placement;
};

int server_init(struct server *s, struct mnt *m); /* -1 with errno */
void server_fini(struct server *s);
/* Receives a request if there is one: 1; 0, or -1 at the end of the mount. */
int server_take(struct server *s);
void server_answer(struct server *s); /* serves what was received */
bool server_took_read(const struct server *s);
pid_t server_client(const struct server *s); /* 0: the kernel itself */
/* More of the file that the last request read or wrote. The kernel reads ahead
 * and writes back, so the client may work meanwhile. */
bool server_took_more(const struct server *s);
bool server_took_removal(const struct server *s); /* of a name */
/* After a request that was there at once: whether its client did not wait for
 * the reply to the request before it. It is another thread, or the kernel reads
 * ahead. */
bool server_took_parallel(const struct server *s);
/* Waits for a request. Of all waiting threads the kernel wakes one, the main
 * thread first. False after the time-out. */
bool server_wait(struct server *s, int ms);

/* `always`: this many helpers that do not sleep; 0: as the machine allows. */
struct helpers *helpers_start(struct mnt *m, int always);
void helpers_stop(struct helpers *h); /* accepts NULL */
void helpers_wake(struct helpers *h); /* a read request waits */
bool helpers_awake(const struct helpers *h);

#endif
