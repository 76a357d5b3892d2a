#include "vfs/core/core.h"

#include "lib/base/hash.h"
#include "vfs/core/lower.h"
#include "vfs/core/nanos.h"
#include "vfs/core/xattr_list.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The fingerprint of a host file is a hash of everything that apply replaces:
 * mode, owner, attributes and content. It is stored when the namespace first
 * changes the node. A new hard link, or a copy that keeps the times, changes
 * only the change time of a host file; the fingerprint distinguishes it from a
 * real change.
 */
#define PRINT_MAX (16 << 20) /* larger files have no fingerprint */

static int hash_xattrs(struct vfs *v, const char *path, struct hash *h,
		       struct err *e)
{
	struct buf list = BUF_MAX((size_t)16 << 20);
	const char *name;
	char full[PATH_MAX];
	int dir = lower_open_parent(v, path, &name, e);
	int rc;

	if (dir < 0)
		return -1;
	snprintf(full, sizeof full, "/proc/self/fd/%d/%s", dir, name);
	rc = xattrs_of_host(full, &list, e);
	if (rc == 0)
		hash_add(h, list.p ? list.p : "", list.n);
	buf_fini(&list);
	close(dir);
	return rc;
}

static int hash_content(int fd, struct hash *h, struct err *e)
{
	char *room = malloc(VFS_CHUNK);
	ssize_t got;

	if (!room)
		abort();
	while ((got = read(fd, room, VFS_CHUNK)) > 0)
		hash_add(h, room, (size_t)got);
	free(room);
	return got < 0 ? err_errno_set(e, "cannot read the host file") : 0;
}

static int print_open(struct vfs *v, const char *path, int fd,
		      const struct stat *st, char out[HASH_HEX], struct err *e)
{
	struct hash *h = hash_new();
	char meta[96];
	int n = snprintf(meta, sizeof meta, "%o %u %u\n", st->st_mode,
			 st->st_uid, st->st_gid);

	hash_add(h, meta, (size_t)n);
	if (hash_xattrs(v, path, h, e) || hash_content(fd, h, e)) {
		hash_free(h);
		return -1;
	}
	hash_end(h, out);
	return 0;
}

/* The fingerprint of the host file that is at the path now: 1, 0 if it has
 * none, -1. */
static int print_of(struct vfs *v, const char *path, struct stat *st,
		    char out[HASH_HEX], struct err *e)
{
	int fd = lower_open(v, path, O_NONBLOCK, e);
	int rc;

	if (fd < 0)
		return -1;
	if (fstat(fd, st))
		rc = err_errno_set(e, "%s", path);
	else if (!S_ISREG(st->st_mode) || st->st_size > PRINT_MAX)
		rc = 0;
	else
		rc = print_open(v, path, fd, st, out, e) ? -1 : 1;
	close(fd);
	return rc;
}

static int keep_print(struct vfs *v, const struct node *n,
		      const struct vfs_lower_row *seen, const char *path,
		      struct err *e)
{
	struct vfs_lower_digest_set_in in = {.id = seen->id};
	char print[HASH_HEX];
	struct err ignored;
	struct stat st;

	/* a file that cannot be read, or was replaced, has no fingerprint */
	if (print_of(v, path, &st, print, &ignored) <= 0 ||
	    st.st_size != seen->size ||
	    nanos_of(st.st_mtim) != seen->modified ||
	    nanos_of(st.st_ctim) != n->created)
		return 0;
	in.digest = print;
	return sql_exec(v->db, Q_VFS_LOWER_DIGEST_SET, &in, e) < 0 ? -1 : 0;
}

int lower_keep_fingerprint(struct vfs *v, const struct node *n, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino)};
	struct vfs_lower_digest_row known;
	struct vfs_lower_row seen;
	struct arena mem = {0};
	int rc = 0;

	if (!v->base || !S_ISREG(n->mode) || !(n->flags & NODE_HOSTS))
		return 0;
	rc = sql_get(v->db, Q_VFS_LOWER_DIGEST, &key, &known, &mem, e);
	if (rc == 0 &&
	    (rc = sql_get(v->db, Q_VFS_LOWER_GET, &key, &seen, &mem, e)) > 0)
		rc = keep_print(v, n, &seen,
				arena_textn(&mem, seen.path.p, seen.path.n), e);
	arena_fini(&mem);
	return rc < 0 ? -1 : 0;
}

int lower_fingerprint_same(struct vfs *v, int64_t ino, const char *path,
			   struct err *e)
{
	struct vfs_key key = {.id = id_of(v, ino)};
	struct vfs_lower_digest_row known;
	struct arena mem = {0};
	char print[HASH_HEX];
	struct stat st;
	int rc = sql_get(v->db, Q_VFS_LOWER_DIGEST, &key, &known, &mem, e);

	if (rc > 0)
		rc = print_of(v, path, &st, print, e);
	if (rc > 0)
		rc = strcmp(print, known.digest) == 0;
	arena_fini(&mem);
	return rc;
}
