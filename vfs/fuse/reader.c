#include "vfs/fuse/reader.h"

#include "lib/db/sql_map.h"
#include "vfs/core/core.h"
#include "vfs/core/fork_fill.h"
#include "vfs/fuse/internal.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>

#define READ_MAX  (1 << 20)
#define USES_MAX  256        /* requests in one transaction */
#define BYTES_MAX (16 << 20) /* per transaction: they count as memory */

struct reader {
	struct mnt *m;
	struct sql *db;
	struct vfs *v;
	uint64_t epoch; /* of the mount, before the transaction began */
	unsigned uses;  /* of the transaction */
	size_t bytes;   /* read in the transaction */
	int64_t noted;  /* node whose access time the mount knows */
	bool brief;     /* end the transaction with the request */
	char *room;
};

struct reader *reader_open(struct mnt *m)
{
	struct reader *r = calloc(1, sizeof *r);
	struct err ignored;

	if (!r)
		abort();
	r->m = m;
	r->room = malloc(READ_MAX);
	if (!r->room)
		abort();
	if (sql_open(&r->db, sql_path(m->v->db), sql_queries(m->v->db),
		     SQL_READONLY, &ignored) ||
	    sql_map(r->db, &ignored) ||
	    vfs_attach(&r->v, r->db, vfs_name(m->v), "", &ignored)) {
		reader_close(r);
		return NULL;
	}
	r->v->snap = m->v->snap;
	r->v->snap_next_ino = m->v->snap_next_ino;
	return r;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	reader_rest(r);
	vfs_close(r->v);
	sql_close(r->db);
	free(r->room);
	free(r);
}

void reader_rest(struct reader *r)
{
	if (!r || !r->v || !r->v->reading)
		return;
	vfs_end_read(r->v);
	sql_map_end(r->db);
}

bool reader_is_old(const struct reader *r)
{
	return r->v->reading && r->epoch != r->m->epoch;
}

/* The file is mapped once the transaction has read something: tx_refresh. */
static bool begin_reading(struct reader *r, uint64_t epoch)
{
	struct err ignored;

	if (vfs_begin_read(r->v, &ignored))
		return false;
	if (tx_refresh(r->v, &ignored)) {
		vfs_end_read(r->v);
		return false;
	}
	sql_map_begin(r->db);
	r->epoch = epoch;
	r->uses = 0;
	r->bytes = 0;
	r->noted = 0;
	return true;
}

/* Whether the data that was read is current. If not, the connection of the
 * mount reads it again, and returns the error if there is one. */
static bool is_sound(struct reader *r)
{
	if (!sql_map_failed())
		return true;
	reader_rest(r);
	return false;
}

/* Call it with the lock held. */
static bool is_changed(const struct mnt *m, int64_t ino)
{
	return node_refs_count(&m->v->changed, ino) > 0;
}

/* Whether this connection sees the node as the mount does. If so, it is in a
 * transaction that is not older than the last commit. */
static bool sees(struct reader *r, int64_t ino)
{
	uint64_t epoch;
	bool changed;

	mnt_lock(r->m);
	changed = is_changed(r->m, ino);
	epoch = r->m->epoch;
	r->brief = r->m->log_is_long;
	mnt_unlock(r->m);
	if (changed)
		return false;
	if (epoch != r->epoch || r->uses >= USES_MAX || r->bytes >= BYTES_MAX)
		reader_rest(r);
	if (!r->v->reading && !begin_reading(r, epoch))
		return false;
	r->uses++;
	return true;
}

static void note_access(struct reader *r, const struct node *n)
{
	struct vfs_attr a;

	if (r->noted == n->ino)
		return;
	node_attr(n, &a);
	mnt_lock(r->m);
	mnt_accessed_as(r->m, &a);
	mnt_unlock(r->m);
	r->noted = n->ino;
}

static bool read_content(struct reader *r, const struct fuse_in_header *in,
			 const struct fuse_read_in *arg)
{
	size_t n = arg->size < READ_MAX ? arg->size : READ_MAX;
	struct node node;
	struct err ignored;
	ssize_t got;

	if (!sees(r, (int64_t)in->nodeid))
		return false;
	got = node_get(r->v, (int64_t)in->nodeid, &node, &ignored)
		      ? -1
		      : data_read(r->v, &node, r->room, n, (int64_t)arg->offset,
				  &ignored);
	if (!is_sound(r) || got < 0)
		return false;
	r->bytes += (size_t)got;
	note_access(r, &node);
	mnt_reply(r->m, in->unique, 0, r->room, (size_t)got);
	return true;
}

/* False if the mount has changed something meanwhile. The node is referenced
 * before the kernel has it and can release it. */
static bool node_refs_found(struct reader *r, int64_t dir,
			    const struct vfs_attr *a, int64_t allocated,
			    struct fuse_entry_out *out)
{
	struct mnt *m = r->m;
	bool same;

	mnt_lock(m);
	same = m->epoch == r->epoch && !is_changed(m, dir) &&
	       !is_changed(m, a->ino);
	if (same) {
		mnt_entry_out(m, a, ((uint64_t)allocated + 511) / 512, out);
		vfs_ref(m->v, a->ino);
	}
	mnt_unlock(m);
	return same;
}

/* A lower directory, or a directory of a fork, may have to be read first, which
 * is a change. */
static bool look_up(struct reader *r, const struct fuse_in_header *in,
		    const char *name)
{
	struct fuse_entry_out out = {.entry_valid = mnt_timeout(r->m)};
	int64_t dir = (int64_t)in->nodeid, allocated = 0;
	struct vfs_attr a;
	struct err e;
	int rc;

	if (r->v->base || !sees(r, dir) || fork_is_unread(r->v, dir, &e))
		return false;
	rc = vfs_lookup(r->v, (struct vfs_at){dir, name}, &a, &e);
	if (rc == 0)
		allocated = vfs_allocated(r->v, &a);
	if (!is_sound(r) || (rc && e.code != ERR_NOTFOUND))
		return false;
	if (rc == 0 && !node_refs_found(r, dir, &a, allocated, &out))
		return false;
	mnt_reply(r->m, in->unique, 0, &out, sizeof out);
	return true;
}

static bool serve_request(struct reader *r, const void *request, size_t n)
{
	const struct fuse_in_header *in = request;

	if (n < sizeof *in)
		return false;
	if (in->opcode == FUSE_READ &&
	    n >= sizeof *in + sizeof(struct fuse_read_in))
		return read_content(r, in,
				    (const struct fuse_read_in *)(in + 1));
	if (in->opcode == FUSE_LOOKUP && n > sizeof *in &&
	    ((const char *)request)[n - 1] == '\0')
		return look_up(r, in, (const char *)(in + 1));
	return false;
}

bool reader_serve(struct reader *r, const void *request, size_t n)
{
	bool served = serve_request(r, request, n);

	if (r->brief)
		reader_rest(r);
	return served;
}
