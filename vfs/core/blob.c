#include "vfs/core/core.h"

#include "lib/db/blob.h"

#include <assert.h>
#include <lz4.h>
#include <string.h>

/* Below this many bytes LZ4 saves no page; above, it must save an eighth. */
#define COMPRESS_MIN 256

static int bad_blob(int64_t blob, struct err *e)
{
	return err_set(e, ERR_CORRUPT,
		       "content %lld is damaged or missing; run "
		       "'skep vfs fsck'",
		       (long long)blob);
}

int blob_unpack(const struct vfs_blob_row *row, uint8_t out[VFS_CHUNK],
		size_t *n, struct err *e)
{
	int got;

	if (row->raw == OPT_NONE) {
		if (row->data.n > VFS_CHUNK)
			return bad_blob(row->id, e);
		if (row->data.n)
			memcpy(out, row->data.p, row->data.n);
		*n = row->data.n;
		return 0;
	}
	got = LZ4_decompress_safe(row->data.p, (char *)out, (int)row->data.n,
				  VFS_CHUNK);
	*n = (size_t)row->raw;
	return got >= 0 && got == row->raw ? 0 : bad_blob(row->id, e);
}

int blob_read(struct vfs *v, int64_t blob, uint8_t out[VFS_CHUNK], size_t *n,
	      struct err *e)
{
	struct vfs_key key = {.id = blob};
	struct sql_rows it = sql_rows(v->db, Q_VFS_BLOB_GET, &key);
	struct vfs_blob_row row;
	struct err why;
	bool found = sql_next(&it, &row);
	int bad = found ? blob_unpack(&row, out, n, &why)
			: bad_blob(blob, &why);

	if (sql_end(&it, e))
		return -1;
	if (bad)
		*e = why;
	return bad;
}

static const struct sql_blob_column content = {"vfs_blob", "data"};

void blob_end_direct(struct vfs *v)
{
	sql_blob_close(v->direct);
	v->direct = NULL;
}

/* Reads a whole chunk from the pages of the file to its destination; a row
 * would cost another copy. 1: it was read; 0: it is compressed. */
static int read_direct(struct vfs *v, int64_t blob, void *p, struct err *e)
{
	struct vfs_key key = {.id = blob};
	struct vfs_blob_shape_row row;
	int found = sql_get(v->db, Q_VFS_BLOB_SHAPE, &key, &row, NULL, e);

	if (found < 0)
		return -1;
	if (!found || row.n > VFS_CHUNK)
		return bad_blob(blob, e);
	if (row.raw != OPT_NONE)
		return 0;
	if (sql_blob_open(v->db, &content, blob, false, &v->direct, e) ||
	    sql_blob_read(v->direct, p, (size_t)row.n, 0, e)) {
		blob_end_direct(v);
		return -1;
	}
	memset((uint8_t *)p + row.n, 0, VFS_CHUNK - (size_t)row.n);
	return 1;
}

int blob_read_part(struct vfs *v, int64_t blob, void *p, size_t n, size_t off,
		   struct err *e)
{
	size_t have;

	if (off == 0 && n == VFS_CHUNK && v->reading) {
		int done = read_direct(v, blob, p, e);

		if (done)
			return done < 0 ? -1 : 0;
	}
	if (off == 0 && n == VFS_CHUNK) {
		if (blob_read(v, blob, p, &have, e))
			return -1;
		memset((uint8_t *)p + have, 0, n - have);
		return 0;
	}
	if (blob_read(v, blob, v->chunk, &have, e))
		return -1;
	have = have > off ? have - off : 0;
	have = have < n ? have : n;
	memcpy(p, v->chunk + off, have);
	memset((uint8_t *)p + have, 0, n - have);
	return 0;
}

/* Compressed if it is worth it; the result borrows p or v->packed. */
static struct vfs_blob_row pack(struct vfs *v, const void *p, size_t n,
				bool compress)
{
	struct vfs_blob_row row = {.raw = OPT_NONE, .data = {p, n}};
	int got;

	if (!compress || n < COMPRESS_MIN)
		return row;
	got = LZ4_compress_default(p, (char *)v->packed, (int)n,
				   (int)(n - n / 8));
	if (got > 0) {
		row.raw = (int64_t)n;
		row.data = (struct blob){v->packed, (size_t)got};
	}
	return row;
}

int blob_add(struct vfs *v, const void *p, size_t n, bool compress,
	     int64_t *out, struct err *e)
{
	struct vfs_blob_row row = pack(v, p, n, compress);

	if (sql_exec(v->db, Q_VFS_BLOB_ADD, &row, e) < 0)
		return -1;
	*out = sql_last_rowid(v->db);
	return 0;
}

int blob_replace(struct vfs *v, int64_t blob, const void *p, size_t n,
		 bool compress, struct err *e)
{
	struct vfs_blob_row row = pack(v, p, n, compress);

	row.id = blob;
	return sql_exec(v->db, Q_VFS_BLOB_SET, &row, e) < 0 ? -1 : 0;
}

int blob_state(struct vfs *v, int64_t blob, struct blob_state *out,
	       struct err *e)
{
	struct vfs_key key = {.id = blob};
	struct vfs_blob_state_row row;
	int found = sql_get(v->db, Q_VFS_BLOB_STATE, &key, &row, NULL, e);

	if (found <= 0)
		return found < 0 ? -1 : bad_blob(blob, e);
	out->shared = row.refs > 1;
	out->plain = row.raw == OPT_NONE;
	out->stored = (size_t)row.n;
	return 0;
}

int blob_patch(struct vfs *v, int64_t blob, const void *p, size_t n, size_t off,
	       struct err *e)
{
	struct sql_blob *h = NULL;
	int rc = sql_blob_open(v->db, &content, blob, true, &h, e);

	if (rc == 0)
		rc = sql_blob_write(h, p, n, off, e);
	sql_blob_close(h);
	return rc;
}

/* The number of references to the blob, if recorded: 0 means one. */
static int refs_of(struct vfs *v, int64_t blob, int64_t *refs, struct err *e)
{
	struct vfs_key key = {.id = blob};
	struct vfs_number row = {0};

	if (sql_get(v->db, Q_VFS_BLOB_REFS_GET, &key, &row, NULL, e) < 0)
		return -1;
	*refs = row.n;
	return 0;
}

int blob_ref(struct vfs *v, int64_t blob, struct err *e)
{
	struct vfs_key key = {.id = blob};

	return sql_exec(v->db, Q_VFS_BLOB_REFS_ADD, &key, e) < 0 ? -1 : 0;
}

int blob_unref(struct vfs *v, int64_t blob, struct err *e)
{
	struct vfs_key key = {.id = blob};
	int64_t refs;
	int gone;

	assert(blob > 0);
	gone = sql_exec(v->db, Q_VFS_BLOB_DROP_SINGLE, &key, e);
	if (gone)
		return gone < 0 ? -1 : 0;
	if (refs_of(v, blob, &refs, e))
		return -1;
	return sql_exec(v->db,
			refs > 2 ? Q_VFS_BLOB_REFS_SUB : Q_VFS_BLOB_REFS_DROP,
			&key, e) < 0
		       ? -1
		       : 0;
}
