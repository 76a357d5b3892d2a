#include "vfs/search/fts.h"

#include "lib/base/text.h"
#include "lib/db/rank.h"
#include "schema/agent/search/search_text.h"
#include "vfs/core/core.h"
#include "vfs/core/path.h"

#define COUNT     20
#define COUNT_MAX 1000

struct find {
	struct vfs *v;
	const struct vfs_text *query;
	struct arena *arena;
	struct buf match, path;
	struct vfs_text_hit *hits;
	int count, max, skip;
};

static bool is_below(const char *dir, const char *path)
{
	size_t n = dir ? strlen(dir) : 0;

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return n == 0 ||
	       (strncmp(dir, path, n) == 0 && (path[n] == '/' || !path[n]));
}

static int keep_hit(struct find *f, const struct vfs_text_best_row *row,
		    struct err *e)
{
	struct err why;

	if (vfs_path_of(f->v, row->id & INO_MASK, &f->path, &why)) {
		if (why.code == ERR_NOTFOUND)
			return 0; /* held open, but nameless */
		*e = why;
		return -1;
	}
	if (!is_below(f->query->below, f->path.p) || f->skip-- > 0)
		return 0;
	f->hits[f->count++] = (struct vfs_text_hit){
		.ino = row->id & INO_MASK,
		.path = arena_text(f->arena, f->path.p),
		.score = row->score,
	};
	return 0;
}

static int add_snippets(struct find *f, struct err *e)
{
	for (int i = 0; i < f->count; i++) {
		struct vfs_text_snippet_in in = {f->match.p,
						 id_of(f->v, f->hits[i].ino)};
		struct vfs_text_snippet_row row;
		int found = sql_get(f->v->db, Q_VFS_TEXT_SNIPPET, &in, &row,
				    f->arena, e);

		if (found <= 0)
			return found < 0 ? -1
					 : err_set(e, ERR_CORRUPT,
						   "%s: the search index is "
						   "damaged; rebuild it",
						   sql_path(f->v->db));
		f->hits[i].snippet = row.snippet;
	}
	return 0;
}

static int collect_hits(struct find *f, struct err *e)
{
	struct vfs_range r = range_of(f->v->ns);
	struct vfs_text_best_in in = {f->match.p, r.lo, r.hi};
	struct vfs_text_best_row row;
	struct sql_rows it = sql_rows(f->v->db, Q_VFS_TEXT_BEST, &in);
	int rc = 0;

	while (rc == 0 && f->count < f->max && sql_next(&it, &row))
		rc = keep_hit(f, &row, e);
	if (rc) {
		(void)sql_end(&it, &(struct err){0});
		return -1;
	}
	if (sql_end(&it, e) == 0)
		return add_snippets(f, e);
	if (f->query->advanced && e->code == ERR_INTERNAL)
		err_set(e, ERR_USAGE,
			"invalid search expression '%s'; see the query syntax "
			"of FTS5",
			quoted(f->query->query).text);
	return -1;
}

static int prepare_query(struct find *f, struct err *e)
{
	const struct vfs_text *t = f->query;

	if (t->skip < 0 || t->count < 0 || t->count > COUNT_MAX)
		return err_set(e, ERR_USAGE,
			       "the limit of a search is 1 to %d, and skip "
			       "is 0 or more",
			       COUNT_MAX);
	if (!t->advanced)
		return search_text_query(t->query, &f->match, e);
	buf_adds(&f->match, t->query);
	if (f->match.n > SEARCH_QUERY_MAX ||
	    !text_is_utf8(f->match.p, f->match.n))
		return err_set(e, ERR_USAGE,
			       "the search text is not UTF-8 or longer than "
			       "%d bytes",
			       SEARCH_QUERY_MAX);
	return 0;
}

int vfs_text_search(struct vfs *v, const struct vfs_text *t,
		    struct vfs_text_hit **hits, struct arena *a, struct err *e)
{
	struct find f = {.v = v,
			 .query = t,
			 .arena = a,
			 .match = BUF_MAX((size_t)8 * SEARCH_QUERY_MAX),
			 .path = BUF_MAX(1 << 20),
			 .max = t->count ? t->count : COUNT,
			 .skip = t->skip};
	int rc = prepare_query(&f, e);

	if (rc == 0 && vfs_text_update(v, t->watch, e) < 0)
		rc = -1;
	if (rc == 0)
		rc = sql_rank(v->db, e) ? -1 : sql_enter_read(v->db, e);
	if (rc == 0) {
		f.hits = arena_alloc(a, (size_t)f.max * sizeof *f.hits);
		rc = sql_leave(v->db, collect_hits(&f, e), e);
	}
	buf_fini(&f.match);
	buf_fini(&f.path);
	*hits = f.hits;
	return rc ? -1 : f.count;
}
