#include "vfs/core/core.h"

#include "lib/base/text.h"
#include "vfs/core/lower.h"

#include <string.h>
#include <sys/stat.h>

/*
 * File contents: chunks of VFS_CHUNK bytes. A missing chunk shows the lower
 * file, or zeros. A blob may be shorter than its chunk: the rest is zeros. No
 * blob has bytes past the end of the file, so growing a file needs no clearing.
 */

/* A range of one chunk. */
struct part {
	int64_t idx;
	size_t off, n;
};

static struct part part_at(int64_t off, size_t n)
{
	struct part p = {off / VFS_CHUNK, (size_t)(off % VFS_CHUNK), n};

	if (p.n > VFS_CHUNK - p.off)
		p.n = VFS_CHUNK - p.off;
	return p;
}

/* How many bytes of chunk idx are within the first `size` bytes. */
static size_t used_of(int64_t size, int64_t idx)
{
	int64_t left = size - idx * VFS_CHUNK;

	if (left <= 0)
		return 0;
	return left < VFS_CHUNK ? (size_t)left : VFS_CHUNK;
}

static int read_part(struct vfs *v, const struct node *n, struct part at,
		     void *out, struct err *e)
{
	int64_t blob;

	if (chunk_get(v, n, at.idx, &blob, e))
		return -1;
	if (blob != OPT_NONE)
		return blob_read_part(v, blob, out, at.n, at.off, e);
	if (n->lower_size != OPT_NONE)
		return lower_read(v, n, out, at.n,
				  at.idx * VFS_CHUNK + (int64_t)at.off, e);
	memset(out, 0, at.n);
	return 0;
}

static int need_file(const struct node *n, struct err *e)
{
	if (S_ISREG(n->mode))
		return 0;
	return err_set(e, S_ISDIR(n->mode) ? ERR_ISDIR : ERR_USAGE,
		       "%s is not a regular file",
		       *n->name ? quoted(n->name).text : "/");
}

ssize_t data_read(struct vfs *v, const struct node *n, void *p, size_t len,
		  int64_t off, struct err *e)
{
	uint8_t *out = p;
	size_t done = 0;

	if (need_file(n, e))
		return -1;
	if (off < 0)
		return err_set(e, ERR_USAGE, "a negative offset");
	if (off >= n->size)
		return 0;
	if ((int64_t)len > n->size - off)
		len = (size_t)(n->size - off);
	while (done < len) {
		struct part at = part_at(off + (int64_t)done, len - done);

		if (read_part(v, n, at, out + done, e))
			return -1;
		done += at.n;
	}
	return (ssize_t)len;
}

ssize_t vfs_pread(struct vfs *v, int64_t ino, void *p, size_t n, int64_t off,
		  struct err *e)
{
	struct node node;
	ssize_t got = -1;

	if (tx_read(v, e))
		return -1;
	if (!node_get(v, ino, &node, e))
		got = data_read(v, &node, p, n, off, e);
	tx_read_end(v, 0);
	return got;
}

/* 1: the chunk has a blob without other references, which may be changed in
 * place; 0: write a new one. */
static int own_blob(struct vfs *v, const struct node *n, int64_t idx,
		    int64_t *blob, struct blob_state *state, struct err *e)
{
	if (chunk_get(v, n, idx, blob, e))
		return -1;
	if (*blob == OPT_NONE)
		return 0;
	if (chunk_save_undo(v, n, idx, *blob, e) ||
	    blob_state(v, *blob, state, e))
		return -1;
	return !state->shared;
}

static int put_chunk(struct vfs *v, struct node *n, struct part at,
		     const void *p, bool compress, struct err *e)
{
	struct blob_state state;
	int64_t blob;
	int own = own_blob(v, n, at.idx, &blob, &state, e);

	if (own < 0)
		return -1;
	if (own)
		return blob_replace(v, blob, p, at.n, compress, e);
	if (blob_add(v, p, at.n, compress, &blob, e))
		return -1;
	return chunk_set(v, n, at.idx, blob, e);
}

/* 1: the bytes were written to the blob in place. */
static int patch_chunk(struct vfs *v, struct node *n, struct part at,
		       const void *p, struct err *e)
{
	struct blob_state state;
	int64_t blob;
	int own = own_blob(v, n, at.idx, &blob, &state, e);

	if (own <= 0)
		return own;
	if (!state.plain || at.off + at.n > state.stored)
		return 0;
	return blob_patch(v, blob, p, at.n, at.off, e) ? -1 : 1;
}

static int write_part(struct vfs *v, struct node *n, struct part at,
		      const uint8_t *p, struct err *e)
{
	size_t used = used_of(n->size, at.idx);
	struct part whole = {at.idx, 0, used};
	int done;

	if (at.off == 0 && at.n >= used)
		return put_chunk(v, n, at, p, true, e);
	done = patch_chunk(v, n, at, p, e);
	if (done)
		return done < 0 ? -1 : 0;
	if (read_part(v, n, whole, v->work, e))
		return -1;
	if (at.off > used)
		memset(v->work + used, 0, at.off - used);
	memcpy(v->work + at.off, p, at.n);
	if (at.off + at.n > used)
		whole.n = at.off + at.n;
	/* more small changes will follow: leave it uncompressed, so that they
	 * can be written in place */
	return put_chunk(v, n, whole, v->work, at.n * 2 >= whole.n, e);
}

int data_write(struct vfs *v, struct node *n, const void *p, size_t len,
	       int64_t off, struct err *e)
{
	const uint8_t *from = p;
	int64_t end = off + (int64_t)len;
	size_t done = 0;

	if (need_file(n, e))
		return -1;
	if (off < 0 || len > INT32_MAX || off > VFS_SIZE_MAX - (int64_t)len)
		return err_set(e, ERR_TOOBIG, "%s would be too large",
			       quoted(n->name).text);
	if (quota_resize(v, n, end > n->size ? end : n->size, e))
		return -1;
	if (node_save_undo(v, n, e))
		return -1;
	while (done < len) {
		struct part at = part_at(off + (int64_t)done, len - done);

		if (write_part(v, n, at, from + done, e))
			return -1;
		done += at.n;
		if (off + (int64_t)done > n->size)
			n->size = off + (int64_t)done;
	}
	node_touch(n, true);
	if (node_save(v, n, e))
		return -1;
	return journal_node(v, VFS_OP_write, n, e);
}

static int write_node(struct vfs *v, int64_t ino, const void *p, size_t n,
		      int64_t off, struct err *e)
{
	struct node node;

	if (node_get(v, ino, &node, e))
		return -1;
	return data_write(v, &node, p, n, off, e);
}

int vfs_pwrite(struct vfs *v, int64_t ino, const void *p, size_t n, int64_t off,
	       struct err *e)
{
	if (n == 0)
		return 0;
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, write_node(v, ino, p, n, off, e), e);
}

/* Releases all chunks from idx on. */
static int drop_from(struct vfs *v, struct node *n, int64_t idx, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino), .idx = idx};
	int64_t some[256];
	int got;

	if (idx == 0 && chunk_set(v, n, 0, OPT_NONE, e))
		return -1;
	if (n->size <= VFS_CHUNK)
		return 0;
	do {
		struct sql_rows it = sql_rows(v->db, Q_VFS_CHUNK_FROM, &key);
		struct vfs_number row;

		for (got = 0; got < 256 && sql_next(&it, &row); got++)
			some[got] = row.n;
		if (sql_end(&it, e))
			return -1;
		for (int i = 0; i < got; i++)
			if (chunk_set(v, n, some[i], OPT_NONE, e))
				return -1;
	} while (got == 256);
	return 0;
}

/* Truncates the chunk in which the file will end. */
static int cut_last(struct vfs *v, struct node *n, int64_t size, struct err *e)
{
	struct part last = {size / VFS_CHUNK, 0, (size_t)(size % VFS_CHUNK)};
	int64_t blob;
	size_t have;

	if (last.n == 0)
		return 0;
	if (chunk_get(v, n, last.idx, &blob, e))
		return -1;
	if (blob == OPT_NONE)
		return 0;
	if (blob_read(v, blob, v->work, &have, e))
		return -1;
	if (have <= last.n)
		return 0;
	return put_chunk(v, n, last, v->work, true, e);
}

int data_truncate(struct vfs *v, struct node *n, int64_t size, struct err *e)
{
	int64_t idx = (size + VFS_CHUNK - 1) / VFS_CHUNK;

	if (size < 0 || size > VFS_SIZE_MAX)
		return err_set(e, size < 0 ? ERR_USAGE : ERR_TOOBIG,
			       "invalid size for %s", quoted(n->name).text);
	if (quota_resize(v, n, size, e) || node_save_undo(v, n, e))
		return -1;
	if (size < n->size &&
	    (drop_from(v, n, idx, e) || cut_last(v, n, size, e)))
		return -1;
	if (n->lower_size != OPT_NONE && n->lower_size > size)
		n->lower_size = size;
	n->size = size;
	node_touch(n, true);
	return 0;
}

int data_drop(struct vfs *v, struct node *n, struct err *e)
{
	return drop_from(v, n, 0, e);
}

int data_keep_lower(struct vfs *v, struct node *n, struct err *e)
{
	if (node_save_undo(v, n, e))
		return -1;
	for (int64_t idx = 0; idx * VFS_CHUNK < n->lower_size; idx++) {
		struct part all = {idx, 0, used_of(n->size, idx)};
		int64_t blob;

		if (chunk_get(v, n, idx, &blob, e))
			return -1;
		if (blob == OPT_NONE &&
		    (read_part(v, n, all, v->work, e) ||
		     put_chunk(v, n, all, v->work, true, e)))
			return -1;
	}
	n->lower_size = OPT_NONE;
	return node_save(v, n, e);
}
