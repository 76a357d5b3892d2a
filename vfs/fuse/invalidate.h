#ifndef VFS_FUSE_INVALIDATE_H
#define VFS_FUSE_INVALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Drops entries from the kernel's cache, in its own thread: the kernel may
 * first write pages back, which the serving thread must handle.
 */
struct fuse_session;
struct notify;

struct notify *notify_start(struct fuse_session *se);
void notify_stop(struct notify *n); /* discards the rest; accepts NULL */

/* The name in the directory, and the listing of the directory. */
void notify_entry(struct notify *n, int64_t dir, const char *name);
/* Attributes and pages of the node. */
uint64_t notify_node(struct notify *n, int64_t ino); /* a ticket */
bool notify_done(struct notify *n, uint64_t ticket); /* it was sent */
bool notify_idle(struct notify *n);                  /* all were sent */
/* The last bytes of a file. The kernel keeps its own size of a cached file, and
 * only this makes it grow. Copies p. */
void notify_tail(struct notify *n, int64_t ino, int64_t off, const void *p,
		 size_t len);

#endif
