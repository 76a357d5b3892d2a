#ifndef VFS_TRANSFER_TRANSFER_H
#define VFS_TRANSFER_TRANSFER_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Imports trees into a namespace and exports them. A tree that is imported is
 * exported unchanged: modes, owners, times, links of both kinds, empty
 * directories, fifos, attributes (user.*, ACLs), names of any bytes. (sqlar
 * cannot represent owners, hard links, and anything that is not a file,
 * directory or link; AgentFS has no attributes.) Set-id bits of files are
 * exported only with keep_setuid, device nodes only with devices.
 *
 * An import merges with existing files: files are replaced, directories merged.
 * A directory is not replaced by another type (ERR_ISDIR), unless `replace` is
 * set. An import is committed in portions; if one fails, the earlier ones stay.
 * Paths outside of the target are rejected.
 */
struct vfs;

struct vfs_transfer {
	const char *path; /* in the namespace; "" is its root */
	bool replace;     /* directories, too */
	bool keep_setuid; /* out: see vfs_mode_out */
	bool devices;     /* out: also device nodes, to a directory or tar */
	/* Called often with the progress so far. May be NULL. */
	void (*report)(void *arg, int64_t nodes, int64_t bytes);
	void *arg;
	int64_t nodes, bytes; /* out */
	int64_t lost;         /* out: files that the lower directory has lost */
	int64_t left_out;     /* out: device nodes */
};

/* As root, a device node gives its owner access to the device. Device nodes of
 * an agent are skipped and counted unless they are requested. */
static inline bool vfs_skips_device(struct vfs_transfer *p, mode_t mode)
{
	if (p->devices || !(S_ISCHR(mode) || S_ISBLK(mode)))
		return false;
	p->left_out++;
	return true;
}

/* A file of an agent must not run as its owner or group on the host, so it has
 * no set-id bits there unless they are requested. */
static inline mode_t vfs_mode_out(mode_t mode, bool keep_setuid)
{
	return keep_setuid || S_ISDIR(mode)
		       ? mode
		       : mode & ~(mode_t)(S_ISUID | S_ISGID);
}

static inline void vfs_transfer_report(const struct vfs_transfer *p)
{
	if (p->report)
		p->report(p->arg, p->nodes, p->bytes);
}

/* The end of an export: skipped files are a failure. */
static inline int vfs_transfer_end(const struct vfs_transfer *p, struct err *e)
{
	if (!p->lost)
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "%lld files were left out: the host directory below has "
		       "removed or changed them (see vfs diff)",
		       (long long)p->lost);
}

int vfs_import_dir(struct vfs *v, const char *dir, struct vfs_transfer *p,
		   struct err *e);
int vfs_export_dir(struct vfs *v, const char *dir, struct vfs_transfer *p,
		   struct err *e); /* creates it; keeps existing files */

/* Any tar that libarchive reads, compressed or not, from a file or a pipe. */
int vfs_import_tar(struct vfs *v, int fd, struct vfs_transfer *p,
		   struct err *e);
int vfs_export_tar(struct vfs *v, int fd, struct vfs_transfer *p,
		   struct err *e);

/* SQLite files: https://sqlite.org/sqlar.html, and AgentFS. */
int vfs_import_sqlar(struct vfs *v, const char *file, struct vfs_transfer *p,
		     struct err *e);
int vfs_export_sqlar(struct vfs *v, const char *file, struct vfs_transfer *p,
		     struct err *e); /* a new file */
int vfs_import_agentfs(struct vfs *v, const char *file, struct vfs_transfer *p,
		       struct err *e);
int vfs_export_agentfs(struct vfs *v, const char *file, struct vfs_transfer *p,
		       struct err *e); /* a new file */

#endif
