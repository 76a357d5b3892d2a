#ifndef VFS_FUSE_INVALIDATE_H
#define VFS_FUSE_INVALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Tells the kernel what to forget, from a thread of its own: the kernel may
 * first want to write pages back, which the serving thread must answer.
 */
struct fuse_session;
struct notify;

struct notify *notify_start(struct fuse_session *se);
void notify_stop(struct notify *n); /* drops what is left; NULL is fine */

/* The name in the directory, and what the directory lists. */
void notify_entry(struct notify *n, int64_t dir, const char *name);
/* Attributes and pages of the node. */
uint64_t notify_node(struct notify *n, int64_t ino); /* a ticket */
bool notify_done(struct notify *n, uint64_t ticket); /* it was told */
/* The last bytes of a file. The kernel keeps its own idea of the size of a file
 * that it has, and only this makes it grow. Copies p. */
void notify_tail(struct notify *n, int64_t ino, int64_t off, const void *p,
		 size_t len);

#endif
