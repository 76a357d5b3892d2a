#include "vfs/check/check.h"

#include "lib/base/hash.h"
#include "lib/db/checkpoint.h"
#include "lib/db/vacuum.h"
#include "vfs/core/core.h"

#include <lz4hc.h>
#include <stdlib.h>
#include <string.h>

#define BATCH      64   /* contents between two commits */
#define PAGES      1000 /* free pages returned between two commits */
#define MANY       8000 /* free pages that are returned in one commit */
#define HASH_BYTES 16   /* enough to find candidates; the bytes decide */

struct seen {
	uint8_t hash[HASH_BYTES];
	int64_t blob;
};

struct work {
	struct vfs v; /* only its connection and room are used */
	struct vfs_compact *c;
	struct seen *list;
	size_t n, cap;
	int64_t done, total;
};

static void note_hash(struct work *w, const uint8_t *p, size_t n, int64_t blob)
{
	char hex[HASH_HEX];
	struct seen *s;

	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 1024;
		w->list = realloc(w->list, w->cap * sizeof *w->list);
		if (!w->list)
			abort();
	}
	s = &w->list[w->n++];
	hash_of(p, n, hex);
	memcpy(s->hash, hex, HASH_BYTES);
	s->blob = blob;
}

/* Compresses harder than a write has time for. */
static int compress_content(struct work *w, int64_t blob, size_t n,
			    struct err *e)
{
	struct vfs_key key = {.id = blob};
	struct vfs_blob_state_row now;
	struct vfs_blob_row row = {.id = blob, .raw = (int64_t)n};
	int got;

	if (n < 256 ||
	    sql_get(w->v.db, Q_VFS_BLOB_STATE, &key, &now, NULL, e) < 0)
		return n < 256 ? 0 : -1;
	got = LZ4_compress_HC((const char *)w->v.chunk, (char *)w->v.packed,
			      (int)n, (int)(n - n / 16), LZ4HC_CLEVEL_DEFAULT);
	if (got <= 0 || got >= now.n)
		return 0;
	row.data = (struct blob){w->v.packed, (size_t)got};
	w->c->compressed++;
	return sql_exec(w->v.db, Q_VFS_BLOB_SET, &row, e) < 0 ? -1 : 0;
}

/* One batch of contents after `*last`: 1 if there may be more, 0, -1. */
static int compact_batch(struct work *w, int64_t *last, struct err *e)
{
	for (int i = 0; i < BATCH; i++) {
		struct vfs_key key = {.id = *last};
		struct vfs_number next;
		size_t n;
		int found = sql_get(w->v.db, Q_VFS_BLOB_NEXT, &key, &next, NULL,
				    e);

		if (found <= 0)
			return found;
		*last = next.n;
		w->done++;
		if (blob_read(&w->v, *last, w->v.chunk, &n, e) ||
		    compress_content(w, *last, n, e))
			return -1;
		note_hash(w, w->v.chunk, n, *last);
	}
	return 1;
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

static int by_hash(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = memcmp(x->hash, y->hash, HASH_BYTES);

	return order ? order : x->blob < y->blob ? -1 : x->blob > y->blob;
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

static int dedup_in(struct work *w, struct err *e)
{
	static const unsigned after[] = {
		Q_VFS_DEDUP_INODES,       Q_VFS_DEDUP_CHUNKS,
		Q_VFS_DEDUP_UNDO_INODES,  Q_VFS_DEDUP_UNDO_CHUNKS,
		Q_VFS_REPAIR_SHARE,       Q_VFS_REPAIR_SHARE_ONE,
		Q_VFS_REPAIR_BLOB_UNUSED,
	};
	size_t first = 0;

	for (size_t i = 1; i < w->n; i++) {
		struct vfs_dedup_add_in pair = {w->list[i].blob,
						w->list[first].blob};
		int same = memcmp(w->list[i].hash, w->list[first].hash,
				  HASH_BYTES) == 0;

		if (same)
			same = is_same(w, pair.old, pair.new, e);
		if (same < 0)
			return -1;
		if (!same) {
			first = i;
			continue;
		}
		w->c->joined++;
		if (sql_exec(w->v.db, Q_VFS_DEDUP_ADD, &pair, e) < 0)
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
	if (w->n == 0)
		return 0;
	qsort(w->list, w->n, sizeof *w->list, by_hash);
	if (sql_enter(w->v.db, e))
		return -1;
	return sql_leave(w->v.db, dedup_in(w, e), e);
}

/* A few pages at a time, so that no writer waits long, unless there are so many
 * that one transaction is much faster. */
static int give_back(struct sql *db, struct err *e)
{
	struct sql_checkpoint_result r;
	int64_t left, given = 1;

	if (sql_script_i64(db, "PRAGMA freelist_count", &left, e))
		return -1;
	if (left > MANY && sql_vacuum_all(db, e))
		return -1;
	while (left <= MANY && given > 0)
		given = sql_vacuum_some(db, PAGES, e);
	if (given < 0)
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
	return rc;
}
