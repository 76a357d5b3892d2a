#include "vfs/fuse/internal.h"

#include "lib/base/clock.h"

/*
 * Access times, as with relatime: a read updates the time if it is not later
 * than those of the last changes, or is a day old. The new time is kept in
 * memory and written with the next batch; a crash may lose it. Reads that the
 * kernel serves from its cache are not seen.
 */
#define DAY_NS    INT64_C(86400000000000)
#define KNOWN_MAX 4096
#define RECENT    1 /* instead of a time: the stored one is recent */

static bool is_new(const struct mnt *m, int64_t ino)
{
	return !vfs_is_readonly(m->v) && !node_refs_count(&m->accessed, ino);
}

void mnt_accessed_as(struct mnt *m, const struct vfs_attr *a)
{
	int64_t now = clock_now_ns();
	bool stale = a->accessed <= a->modified || a->accessed <= a->changed ||
		     now - a->accessed >= DAY_NS;

	if (is_new(m, a->ino))
		node_refs_add(&m->accessed, a->ino,
			      stale ? (uint64_t)now : RECENT);
}

void mnt_accessed(struct mnt *m, int64_t ino)
{
	struct vfs_attr a;
	struct err ignored;

	if (is_new(m, ino) && !vfs_getattr(m->v, ino, &a, &ignored))
		mnt_accessed_as(m, &a);
}

int64_t mnt_access_time(const struct mnt *m, const struct vfs_attr *a)
{
	uint64_t at = node_refs_count(&m->accessed, a->ino);

	return at > RECENT ? (int64_t)at : a->accessed;
}

static int store(struct mnt *m, int64_t ino, uint64_t at, struct err *e)
{
	return at > RECENT ? vfs_set_accessed(m->v, ino, (int64_t)at, e) : 0;
}

void mnt_access_changed(struct mnt *m, int64_t ino, bool keep)
{
	uint64_t at = node_refs_count(&m->accessed, ino);
	struct err ignored;

	if (!at)
		return;
	node_refs_sub(&m->accessed, ino, at);
	if (keep)
		(void)store(m, ino, at, &ignored);
}

int mnt_access_write(struct mnt *m, struct err *e)
{
	int64_t ino;
	int rc = 0;

	for (size_t i = 0; rc == 0 && (ino = node_refs_next(&m->accessed, &i));)
		rc = store(m, ino, node_refs_count(&m->accessed, ino), e);
	node_refs_fini(&m->accessed);
	return rc;
}

bool mnt_access_full(const struct mnt *m)
{
	return m->accessed.n >= KNOWN_MAX;
}
