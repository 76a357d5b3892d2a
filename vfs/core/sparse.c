#include "vfs/core/core.h"

#include "lib/base/text.h"

#include <string.h>
#include <sys/stat.h>

/* Holes, and copies by reference: operations on whole chunks. */

#define COPY_MAX ((size_t)16 << 20)

/* The first stored chunk from idx on, -1 if there is none. */
static int64_t next_stored(struct vfs *v, const struct node *n, int64_t idx,
			   struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino), .idx = idx > 1 ? idx : 1};
	struct vfs_number row;
	int found;

	if (idx == 0 && n->blob != OPT_NONE)
		return 0;
	found = sql_get(v->db, Q_VFS_CHUNK_FROM, &key, &row, NULL, e);
	return found > 0 ? row.n : found < 0 ? -2 : -1;
}

/* The first chunk from idx on that is not stored. */
static int64_t next_hole(struct vfs *v, const struct node *n, int64_t idx,
			 struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino)};
	struct vfs_number row;
	int got = 256;

	if (idx == 0) {
		if (n->blob == OPT_NONE)
			return 0;
		idx = 1;
	}
	while (got == 256) {
		struct sql_rows it;

		key.idx = idx;
		it = sql_rows(v->db, Q_VFS_CHUNK_FROM, &key);
		for (got = 0; sql_next(&it, &row) && row.n == idx; got++)
			idx++;
		if (sql_end(&it, e))
			return -2;
	}
	return idx;
}

/* A snapshot, and a file of the host, count as data throughout. */
static int64_t seek_in(struct vfs *v, int64_t ino, int64_t off, bool data,
		       struct err *e)
{
	struct node n;
	int64_t idx, at;

	if (node_get(v, ino, &n, e))
		return -1;
	if (off < 0 || off >= n.size)
		return err_set(e, ERR_NOATTR, "past the end of %s",
			       quoted(n.name).text);
	if (v->snap || n.lower_size != OPT_NONE || !S_ISREG(n.mode))
		return data ? off : n.size;
	idx = off / VFS_CHUNK;
	at = data ? next_stored(v, &n, idx, e) : next_hole(v, &n, idx, e);
	if (at == -2)
		return -1;
	if (at < 0 || (data && at * VFS_CHUNK >= n.size))
		return err_set(e, ERR_NOATTR, "%s has no more data",
			       quoted(n.name).text);
	at *= VFS_CHUNK;
	if (at > n.size)
		return n.size;
	return at > off ? at : off;
}

int64_t vfs_seek(struct vfs *v, int64_t ino, int64_t off, bool data,
		 struct err *e)
{
	int64_t at;

	if (tx_read(v, e))
		return -1;
	at = seek_in(v, ino, off, data, e);
	tx_read_end(v, 0);
	return at;
}

int64_t vfs_allocated(struct vfs *v, const struct vfs_attr *a)
{
	struct vfs_key key = {.id = id_of(v, a->ino)};
	struct vfs_number row = {0};
	struct node n;
	struct err ignored;
	int64_t bytes;

	if (!S_ISREG(a->mode) || v->snap || a->size == 0 ||
	    tx_read(v, &ignored))
		return a->size;
	if (node_find(v, a->ino, &n, &ignored) <= 0 ||
	    n.lower_size != OPT_NONE ||
	    (a->size > VFS_CHUNK &&
	     sql_get(v->db, Q_VFS_CHUNK_COUNT, &key, &row, NULL, &ignored) < 0))
		bytes = a->size;
	else
		bytes = (row.n + (n.blob != OPT_NONE)) * VFS_CHUNK;
	tx_read_end(v, 0);
	return bytes < a->size ? bytes : a->size;
}

static int write_zeros(struct vfs *v, int64_t ino, int64_t off, int64_t len,
		       struct err *e)
{
	static const char zeros[VFS_CHUNK];

	return vfs_pwrite(v, ino, zeros, (size_t)len, off, e);
}

/* Drops whole chunks and overwrites the rest. A part that shows the lower file
 * cannot have a hole, and is overwritten as well. */
static int punch_chunk(struct vfs *v, int64_t ino, int64_t off, int64_t len,
		       struct err *e)
{
	struct node n;

	if (node_get(v, ino, &n, e))
		return -1;
	if (n.lower_size != OPT_NONE ||
	    (len < VFS_CHUNK && (off % VFS_CHUNK || off + len < n.size)))
		return write_zeros(v, ino, off, len, e);
	if (node_save_undo(v, &n, e) ||
	    chunk_set(v, &n, off / VFS_CHUNK, OPT_NONE, e))
		return -1;
	node_touch(&n, true);
	return node_save(v, &n, e) ? -1 : journal_node(v, VFS_OP_write, &n, e);
}

/* The chunk at off, or, if it is not stored, the start of the next stored
 * one. */
static int skip_holes(struct vfs *v, int64_t ino, int64_t *off, int64_t end,
		      struct err *e)
{
	int64_t at = seek_in(v, ino, *off, true, e);

	if (at < 0 && e->code != ERR_NOATTR)
		return -1;
	*off = at < 0 || at > end ? end : at;
	return 0;
}

static int punch_in(struct vfs *v, const void *arg, struct err *e)
{
	const int64_t *a = arg;
	int64_t ino = a[0], off = a[1], end = a[1] + a[2];
	struct node n;

	if (node_get(v, ino, &n, e))
		return -1;
	if (end > n.size)
		end = n.size;
	while (off < end) {
		int64_t len;

		if (skip_holes(v, ino, &off, end, e))
			return -1;
		len = VFS_CHUNK - off % VFS_CHUNK;
		if (len > end - off)
			len = end - off;
		if (len && punch_chunk(v, ino, off, len, e))
			return -1;
		off += len;
	}
	return 0;
}

int vfs_punch(struct vfs *v, int64_t ino, int64_t off, int64_t len,
	      struct err *e)
{
	int64_t args[] = {ino, off, len};

	return tx_many(v, punch_in, args, e);
}

/* --- copies ---------------------------------------------------------------- */

struct range {
	struct vfs_span from, to;
	size_t n, done;
};

/* Makes a chunk of the target refer to the same blob. */
static int share_chunk(struct vfs *v, const struct node *from, struct node *to,
		       const struct range *r, struct err *e)
{
	int64_t blob;

	if (chunk_get(v, from, (r->from.off + (int64_t)r->done) / VFS_CHUNK,
		      &blob, e) ||
	    (blob != OPT_NONE && blob_ref(v, blob, e)))
		return -1;
	return chunk_set(v, to, (r->to.off + (int64_t)r->done) / VFS_CHUNK,
			 blob, e);
}

/* How much of a chunk can be shared from here: all of it, or the part that the
 * source has, if the target ends there too; 0: it must be copied. */
static size_t can_share(const struct node *from, const struct node *to,
			const struct range *r)
{
	int64_t in = r->from.off + (int64_t)r->done;
	int64_t out = r->to.off + (int64_t)r->done;
	size_t left = r->n - r->done;

	if (in % VFS_CHUNK || out % VFS_CHUNK || from->lower_size != OPT_NONE ||
	    to->lower_size != OPT_NONE || from->ino == to->ino)
		return 0;
	if (left >= VFS_CHUNK)
		return VFS_CHUNK;
	return in + (int64_t)left == from->size &&
			       out + (int64_t)left >= to->size
		       ? left
		       : 0;
}

static int share(struct vfs *v, const struct node *from, struct node *to,
		 struct range *r, struct err *e)
{
	size_t n;

	if (node_save_undo(v, to, e))
		return -1;
	while (r->done < r->n && (n = can_share(from, to, r))) {
		int64_t end = r->to.off + (int64_t)(r->done + n);

		if (quota_resize(v, to, end > to->size ? end : to->size, e) ||
		    share_chunk(v, from, to, r, e))
			return -1;
		r->done += n;
		if (end > to->size)
			to->size = end;
	}
	if (r->done == 0)
		return 0;
	node_touch(to, true);
	return node_save(v, to, e) ? -1 : journal_node(v, VFS_OP_write, to, e);
}

static int copy_rest(struct vfs *v, const struct node *from, struct range *r,
		     struct err *e)
{
	char room[VFS_CHUNK];

	while (r->done < r->n) {
		size_t n = r->n - r->done;
		ssize_t got = data_read(v, from, room,
					n < sizeof room ? n : sizeof room,
					r->from.off + (int64_t)r->done, e);

		if (got <= 0)
			return (int)got;
		if (vfs_pwrite(v, r->to.ino, room, (size_t)got,
			       r->to.off + (int64_t)r->done, e))
			return -1;
		r->done += (size_t)got;
	}
	return 0;
}

/* A copy that does not fit changes nothing. */
static int check_quota(struct vfs *v, const struct node *to,
		       const struct range *r, struct err *e)
{
	struct vfs_usage before = v->usage;
	struct node grown = *to;
	int64_t end = r->to.off + (int64_t)r->n;
	int rc = quota_resize(v, &grown, end > to->size ? end : to->size, e);

	v->usage = before;
	return rc;
}

static int copy_in(struct vfs *v, const void *arg, struct err *e)
{
	struct range *r = *(struct range *const *)arg;
	struct node from, to;

	if (node_get(v, r->from.ino, &from, e) ||
	    node_get(v, r->to.ino, &to, e))
		return -1;
	if (r->from.off >= from.size)
		return 0;
	if ((int64_t)r->n > from.size - r->from.off)
		r->n = (size_t)(from.size - r->from.off);
	if (r->n > COPY_MAX)
		r->n = COPY_MAX;
	if (check_quota(v, &to, r, e))
		return -1;
	if (r->to.off > to.size &&
	    (data_truncate(v, &to, r->to.off, e) || node_save(v, &to, e)))
		return -1;
	return share(v, &from, &to, r, e) ? -1 : copy_rest(v, &from, r, e);
}

ssize_t vfs_copy_range(struct vfs *v, struct vfs_span from, struct vfs_span to,
		       size_t n, struct err *e)
{
	struct range r = {.from = from, .to = to, .n = n}, *p = &r;

	if (from.off < 0 || to.off < 0 ||
	    to.off > VFS_SIZE_MAX - (int64_t)COPY_MAX)
		return err_set(e, ERR_TOOBIG, "the file would be too large");
	return tx_many(v, copy_in, &p, e) ? -1 : (ssize_t)r.done;
}
