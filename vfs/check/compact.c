#include "vfs/check/check.h"

#include "lib/base/hash.h"
#include "lib/db/checkpoint.h"
#include "lib/db/vacuum.h"
#include "vfs/core/core.h"

#include <assert.h>
#include <lz4hc.h>
#include <stdlib.h>
#include <string.h>

#define BATCH      1024 /* contents between two commits */
#define BATCH_LONG 64   /* of which are long enough to compress */
#define LONG       256  /* bytes */

struct seen {
	uint64_t hash; /* finds candidates; the bytes decide */
	int64_t blob;
};

struct work {
	struct vfs v; /* only its connection and room are used */
	struct vfs_compact *c;
	struct seen *list;
	size_t n, cap;
	uint32_t *slots; /* hash table: 1 + index in the list, or 0 */
	size_t mask;
	int64_t done, total;
};

/* Of 16 hex digits, such that the upper bits differ. */
static uint64_t hash_content(const uint8_t *p, size_t n)
{
	char hex[HASH_HEX];
	uint64_t half[2];

	hash_of(p, n, hex);
	memcpy(half, hex, sizeof half);
	return half[0] * UINT64_C(0x9e3779b97f4a7c15) + half[1];
}

static void note_hash(struct work *w, const uint8_t *p, size_t n, int64_t blob)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 1024;
		w->list = realloc(w->list, w->cap * sizeof *w->list);
		if (!w->list)
			abort();
	}
	w->list[w->n++] = (struct seen){hash_content(p, n), blob};
}

/* Compresses harder than a write has time for. */
static int compress_content(struct work *w, const struct vfs_blob_row *now,
			    size_t n, struct err *e)
{
	struct vfs_blob_row row = {.id = now->id, .raw = (int64_t)n};
	int got = LZ4_compress_HC((const char *)w->v.chunk, (char *)w->v.packed,
				  (int)n, (int)(n - n / 16),
				  LZ4HC_CLEVEL_DEFAULT);

	if (got <= 0 || (size_t)got >= now->data.n)
		return 0;
	row.data = (struct blob){w->v.packed, (size_t)got};
	w->c->compressed++;
	return sql_exec(w->v.db, Q_VFS_BLOB_SET, &row, e) < 0 ? -1 : 0;
}

/* 1 if the content is long, 0, -1. */
static int compact_content(struct work *w, const struct vfs_blob_row *row,
			   struct err *e)
{
	size_t n;

	if (blob_unpack(row, w->v.chunk, &n, e))
		return -1;
	note_hash(w, w->v.chunk, n, row->id);
	w->done++;
	if (n < LONG)
		return 0;
	return compress_content(w, row, n, e) ? -1 : 1;
}

/* One batch of contents after `*last`: 1 if there may be more, 0, -1. The walk
 * is in the order of ids, so it is not disturbed by a row that it replaces. */
static int compact_batch(struct work *w, int64_t *last, struct err *e)
{
	struct vfs_blob_after_in in = {*last, BATCH};
	struct sql_rows it = sql_rows(w->v.db, Q_VFS_BLOB_AFTER, &in);
	struct vfs_blob_row row;
	int is_long = 0, longs = 0, n = 0;

	while (is_long >= 0 && longs < BATCH_LONG && sql_next(&it, &row)) {
		*last = row.id;
		n++;
		is_long = compact_content(w, &row, e);
		longs += is_long;
	}
	if (is_long < 0) {
		(void)sql_end(&it, &(struct err){0});
		return -1;
	}
	return sql_end(&it, e) ? -1 : n > 0;
}

static int compress_all(struct work *w, struct err *e)
{
	int64_t last = 0;
	int more;

	do {
		if (sql_enter(w->v.db, e))
			return -1;
		more = compact_batch(w, &last, e);
		if (sql_leave(w->v.db, more < 0 ? -1 : 0, e))
			return -1;
		if (w->c->report)
			w->c->report(w->c->arg, w->done, w->total);
	} while (more > 0);
	return more;
}

/* Whether both still exist and are equal: 1, 0, -1. The hash is older. */
static int is_same(struct work *w, int64_t a, int64_t b, struct err *e)
{
	struct err gone;
	size_t n, m;

	if (blob_read(&w->v, a, w->v.chunk, &n, &gone) ||
	    blob_read(&w->v, b, w->v.work, &m, &gone)) {
		if (gone.code == ERR_CORRUPT)
			return 0;
		*e = gone;
		return -1;
	}
	return n == m && !memcmp(w->v.chunk, w->v.work, n);
}

/* Enters a content in the table, unless an equal one exists. Returns 1 with
 * `*first` if it does, 0, or -1. */
static int find_equal(struct work *w, size_t i, int64_t *first, struct err *e)
{
	size_t at = (w->list[i].hash >> 32) & w->mask;

	for (; w->slots[at]; at = (at + 1) & w->mask) {
		const struct seen *s = &w->list[w->slots[at] - 1];
		int same = s->hash == w->list[i].hash;

		if (same)
			same = is_same(w, w->list[i].blob, s->blob, e);
		*first = s->blob;
		if (same)
			return same;
	}
	w->slots[at] = (uint32_t)i + 1;
	return 0;
}

static int dedup_in(struct work *w, struct err *e)
{
	static const unsigned after[] = {
		Q_VFS_DEDUP_INODES,      Q_VFS_DEDUP_CHUNKS,
		Q_VFS_DEDUP_UNDO_INODES, Q_VFS_DEDUP_UNDO_CHUNKS,
		Q_VFS_DEDUP_COPIED,      Q_VFS_REPAIR_SHARE,
		Q_VFS_REPAIR_SHARE_ONE,  Q_VFS_REPAIR_BLOB_UNUSED,
	};

	for (size_t i = 0; i < w->n; i++) {
		struct vfs_dedup_add_in pair = {w->list[i].blob, 0};
		int same = find_equal(w, i, &pair.new, e);

		if (same < 0)
			return -1;
		w->c->joined += same;
		if (same && sql_exec(w->v.db, Q_VFS_DEDUP_ADD, &pair, e) < 0)
			return -1;
	}
	for (size_t i = 0; w->c->joined && i < sizeof after / sizeof after[0];
	     i++)
		if (sql_exec(w->v.db, after[i], NULL, e) < 0)
			return -1;
	return sql_exec(w->v.db, Q_VFS_DEDUP_CLEAR, NULL, e) < 0 ? -1 : 0;
}

static int dedup(struct work *w, struct err *e)
{
	size_t size = 1;

	if (w->n == 0)
		return 0;
	assert(w->n < UINT32_MAX);
	while (size < 2 * w->n)
		size *= 2;
	w->mask = size - 1;
	w->slots = calloc(size, sizeof *w->slots);
	if (!w->slots)
		abort();
	if (sql_enter(w->v.db, e))
		return -1;
	return sql_leave(w->v.db, dedup_in(w, e), e);
}

static int give_back(struct sql *db, struct err *e)
{
	struct sql_checkpoint_result r;
	int64_t left;

	if (sql_script_i64(db, "PRAGMA freelist_count", &left, e) ||
	    (left && sql_vacuum_all(db, e)))
		return -1;
	return sql_checkpoint(db, SQL_CHECKPOINT_TRUNCATE, 1000, &r, e);
}

/* Size of the database, wherever its pages currently are. */
static int bytes_of(struct sql *db, int64_t *out, struct err *e)
{
	return sql_script_i64(db,
			      "SELECT page_count * page_size FROM "
			      "pragma_page_count, pragma_page_size",
			      out, e);
}

int vfs_compact(struct sql *db, struct vfs_compact *c, struct err *e)
{
	struct work w = {.v = {.db = db}, .c = c};
	int rc;

	c->joined = c->compressed = 0;
	w.v.chunk = malloc(VFS_CHUNK);
	w.v.packed = malloc(VFS_CHUNK);
	w.v.work = malloc(VFS_CHUNK);
	if (!w.v.chunk || !w.v.packed || !w.v.work)
		abort();
	sql_bulk_begin(db);
	rc = bytes_of(db, &c->before, e);
	if (rc == 0)
		rc = sql_script_i64(db, "SELECT count(*) FROM vfs_blob",
				    &w.total, e);
	if (rc == 0)
		rc = compress_all(&w, e);
	if (rc == 0)
		rc = dedup(&w, e);
	if (rc == 0)
		rc = give_back(db, e);
	if (rc == 0)
		rc = bytes_of(db, &c->after, e);
	sql_bulk_end(db);
	free(w.v.chunk);
	free(w.v.packed);
	free(w.v.work);
	free(w.list);
	free(w.slots);
	return rc;
}
