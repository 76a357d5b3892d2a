#ifndef VFS_FUSE_BUSY_POLL_H
#define VFS_FUSE_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long to poll for the next request before sleeping. A sleeping processor
 * takes up to 100 µs to wake, and each request on a mount pays for that. So
 * while requests follow each other quickly, the server stays awake for a moment
 * after each. As soon as another process needs the processor, or no request
 * arrives, it sleeps.
 */
struct busy_poll {
	int quick; /* consecutive requests that came soon; below 0: a break */
	int64_t since;
};

/* Before waiting for fd: true if there is already something to read. */
bool busy_poll_ready(struct busy_poll *p, int fd);
void busy_poll_hit(struct busy_poll *p); /* a request has arrived */

#endif
