/* Updates the index of a namespace; vfs/search/fts.c queries it. */
#include "vfs/core/core.h"
#include "vfs/core/fork_fill.h"
#include "vfs/search/fts.h"

#include "lib/base/text.h"
#include "lib/db/fts.h"
#include "schema/agent/search/search.h"

#include <sys/stat.h>

#define BATCH_FILES 1024 /* in a transaction */
#define BATCH_BYTES ((size_t)1 << 20)
#define HEAD        8000 /* bytes in which a NUL marks binary data */

struct update {
	struct vfs *v;
	struct buf text;
	size_t bytes; /* in this transaction */
	int looked_at;
	bool all;     /* the journal does not have all changes: examine all */
	int64_t upto; /* mark when that is done */
	int64_t from; /* id at which the scan continues; 0: the first */
	bool gone;    /* the scan for deleted files is done */
	const struct index_watch *watch;
	struct fts_build build;
};

/* --- one file --------------------------------------------------------- */

/* Replaces invalid UTF-8 by blanks, so that a snippet is valid text. */
static void blank_invalid(struct buf *b)
{
	for (size_t i = 0, n; i < b->n; i += n) {
		n = b->p[i] ? text_utf8_char(b->p + i, b->n - i) : 0;
		if (n == 0) {
			b->p[i] = ' ';
			n = 1;
		}
	}
}

/* 1 if the file is text, which is then in u->text; 0, -1. */
static int read_text(struct update *u, const struct node *n, struct err *e)
{
	size_t size = (size_t)n->size;
	struct err why;
	ssize_t got;
	char *room;

	buf_clear(&u->text);
	if (n->size == 0 || n->size > VFS_TEXT_MAX)
		return 0;
	room = buf_room(&u->text, size);
	got = data_read(u->v, n, room, size, 0, &why);
	if (got < 0 && n->lower_size != OPT_NONE)
		return 0; /* the host file has changed meanwhile */
	if (got < 0) {
		*e = why;
		return -1;
	}
	buf_grew(&u->text, (size_t)got);
	if (memchr(u->text.p, '\0', u->text.n < HEAD ? u->text.n : HEAD))
		return 0;
	blank_invalid(&u->text);
	return 1;
}

static int drop_text(struct update *u, int64_t id, struct err *e)
{
	if (sql_exec(u->v->db, Q_VFS_TEXT_DROP, &(struct vfs_text_drop_in){id},
		     e) < 0)
		return -1;
	return sql_exec(u->v->db, Q_VFS_TEXT_FILE_DROP,
			&(struct vfs_text_file_drop_in){id}, e) < 0
		       ? -1
		       : 0;
}

/* is_new: it has no row in vfs_text_file, so it has none in the index. */
static int index_file(struct update *u, int64_t ino, bool is_new, struct err *e)
{
	struct vfs_text_file_put_in seen = {.id = id_of(u->v, ino)};
	struct vfs_text_put_in put = {.id = seen.id};
	unsigned query = is_new ? Q_VFS_TEXT_ADD : Q_VFS_TEXT_PUT;
	struct node n;
	int found = node_find(u->v, ino, &n, e), is_text;

	u->looked_at++;
	if (found < 0)
		return -1;
	if (!found || !S_ISREG((mode_t)n.mode))
		return drop_text(u, seen.id, e);
	is_text = read_text(u, &n, e);
	u->bytes += u->text.n;
	put.text = u->text.p;
	if (is_text < 0 || (is_text ? sql_exec(u->v->db, query, &put, e)
				    : drop_text(u, seen.id, e)) < 0)
		return -1;
	seen.changed = n.changed;
	seen.size = n.size;
	return sql_exec(u->v->db, Q_VFS_TEXT_FILE_PUT, &seen, e) < 0 ? -1 : 0;
}

/* --- steps: each is a transaction, and says whether there is more ------ */

static int mark(struct update *u, int64_t seq, struct err *e)
{
	struct vfs_text_watermark_put_in in = {u->v->ns, seq};

	return sql_exec(u->v->db, Q_VFS_TEXT_WATERMARK_PUT, &in, e) < 0 ? -1
									: 0;
}

/* Where to begin: u->all is set if the journal is incomplete. A number is never
 * reused while its row, or an older one, exists. */
static int find_mark(struct update *u, int64_t *seq, struct err *e)
{
	struct vfs_text_watermark_get_in in = {u->v->ns};
	struct vfs_text_bounds_in ns = {u->v->ns};
	struct vfs_text_bounds_row b;
	struct vfs_text_watermark_get_row row = {0};
	int found = sql_get(u->v->db, Q_VFS_TEXT_WATERMARK_GET, &in, &row, NULL,
			    e);

	if (found < 0 ||
	    sql_get(u->v->db, Q_VFS_TEXT_BOUNDS, &ns, &b, NULL, e) < 0)
		return -1;
	*seq = row.seq;
	u->all = u->all || !found || row.seq < b.first - 1;
	u->upto = b.last > b.first - 1 ? b.last : b.first - 1;
	return 0;
}

static bool tells_which(int64_t op)
{
	return op != VFS_OP_rollback && op != VFS_OP_merge;
}

/* Files that the journal names. 1: there may be more, 0: done or u->all, -1. */
static int follow_journal(struct update *u, struct err *e)
{
	struct vfs_text_changes_in in = {u->v->ns, 0, BATCH_FILES};
	struct vfs_text_changes_row *rows;
	struct arena a = {0};
	int n, rc = 0, i = 0;

	if (find_mark(u, &in.seq, e))
		return -1;
	if (u->all)
		return 0;
	n = sql_collect(u->v->db, Q_VFS_TEXT_CHANGES, &in, BATCH_FILES, &rows,
			&a, e);
	for (; i < n && rc == 0 && u->bytes < BATCH_BYTES && !u->all; i++) {
		u->all = !tells_which(rows[i].op);
		if (!u->all && rows[i].ino)
			rc = index_file(u, rows[i].ino, false, e);
	}
	if (n > 0 && rc == 0 && !u->all)
		rc = mark(u, rows[i - 1].seq, e);
	arena_fini(&a);
	if (n < 0 || rc)
		return -1;
	return n > 0 && !u->all;
}

/* Files of a list of ids, as many as fit into one transaction. */
static int index_some(struct update *u, unsigned query, struct err *e)
{
	struct vfs_range r = range_of(u->v->ns);
	struct vfs_text_behind_in in = {u->from ? u->from : r.lo, r.hi,
					BATCH_FILES};
	struct vfs_text_due *rows;
	struct arena a = {0};
	int n = sql_collect(u->v->db, query, &in, BATCH_FILES, &rows, &a, e),
	    rc = 0;

	for (int i = 0; i < n && rc == 0 && u->bytes < BATCH_BYTES; i++) {
		rc = index_file(u, rows[i].id & INO_MASK, rows[i].is_new, e);
		u->from = rows[i].id + 1;
	}
	arena_fini(&a);
	return rc ? -1 : n;
}

/* Two scans over all files. Each batch continues where the previous one ended,
 * so that it does not read finished files again. */
static int index_all(struct update *u, struct err *e)
{
	int n = u->gone ? 0 : index_some(u, Q_VFS_TEXT_GONE, e);

	if (n == 0 && !u->gone) {
		u->gone = true;
		u->from = 0;
	}
	if (n == 0)
		n = index_some(u, Q_VFS_TEXT_BEHIND, e);
	if (n == 0 && mark(u, u->upto, e))
		return -1;
	return n;
}

static int repeat(struct update *u, int (*step)(struct update *, struct err *),
		  struct err *e)
{
	int n;

	do {
		u->bytes = 0;
		/* the index can be rebuilt from the files */
		if (fts_build_batch(&u->build, e) ||
		    sql_enter_relaxed(u->v->db, e))
			return -1;
		n = sql_leave(u->v->db, step(u, e), e);
		if (n > 0 && u->watch)
			u->watch->at(u->watch->arg, u->looked_at);
	} while (n > 0);
	return n;
}

/* The index covers all files. */
static int read_rest(struct vfs *v, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, fork_complete(v, e), e);
}

int vfs_text_update(struct vfs *v, const struct index_watch *watch,
		    struct err *e)
{
	struct update u = {.v = v,
			   .watch = watch,
			   .build = {v->db, "vfs_text", 0},
			   .text = BUF_MAX((size_t)VFS_TEXT_MAX + 1)};
	int rc;

	if (v->snap)
		return err_set(e, ERR_UNSUPPORTED,
			       "a snapshot has no search index; use 'vfs "
			       "grep', or search a fork of it");
	vfs_end_read(v);
	sql_bulk_begin(v->db);
	rc = v->source ? read_rest(v, e) : 0;
	if (rc == 0)
		rc = repeat(&u, follow_journal, e);
	if (rc == 0 && u.all)
		rc = repeat(&u, index_all, e);
	if (rc == 0)
		rc = fts_build_end(&u.build, e);
	sql_bulk_end(v->db);
	buf_fini(&u.text);
	return rc < 0 ? -1 : u.looked_at;
}

static int make_anew(struct sql *db, struct err *e)
{
	if (sql_remake(db, "vfs_text", e))
		return -1;
	return sql_script(db,
			  "DELETE FROM vfs_text_watermark;"
			  "DELETE FROM vfs_text_file",
			  e);
}

int vfs_text_rebuild(struct vfs *v, struct err *e)
{
	vfs_end_read(v);
	if (sql_enter(v->db, e))
		return -1;
	if (sql_leave(v->db, make_anew(v->db, e), e))
		return -1;
	return vfs_text_update(v, NULL, e);
}
