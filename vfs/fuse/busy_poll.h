#ifndef VFS_FUSE_BUSY_POLL_H
#define VFS_FUSE_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long to look for the next request before sleeping. A processor that
 * sleeps takes up to 100 µs to wake, and whoever works on a mount pays that
 * with every request. So while requests follow one another quickly, the server
 * stays awake for a moment after each; as soon as somebody else wants the
 * processor, or nothing comes, it sleeps as it would have.
 */
struct busy_poll {
	int quick; /* requests in a row that came soon; below 0: a break */
	int64_t since;
};

/* Before waiting for fd: true when there is something to read already. */
bool busy_poll_look(struct busy_poll *p, int fd);
void busy_poll_met(struct busy_poll *p); /* a request has come */

#endif
