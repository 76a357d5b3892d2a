#include "schema/agent/search/search.h"

#include "lib/base/text.h"
#include "lib/db/rank.h"
#include "schema/agent/search/search_text.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/visibility.h"

#include <stdlib.h>
#include <string.h>

#define COUNT     20
#define COUNT_MAX 1000

struct find {
	struct agent_file *file;
	const struct search *search;
	struct arena *arena;
	struct search_hit *hits;
	int count, max, skip;
	int64_t lo, hi; /* pos */
	struct visible visible;
};

/* --- asking the index ------------------------------------------------- */

static void keep_hit(struct find *f, const struct search_match_row *row,
		     int64_t who)
{
	f->hits[f->count++] = (struct search_hit){
		.pos = row->pos,
		.session = who,
		.seq = event_seq(row->pos),
		.type = event_type_name(row->type),
		.at = row->at,
		.score = row->score,
	};
}

/* FTS5 reports an invalid expression as a general error of SQLite. An
 * expression that search_text.c wrote is never invalid. */
static int explain(const struct search *s, struct err *e)
{
	const char *reason = strstr(e->text, ": search_");
	char why[sizeof e->text];

	if (!(s->flags & SEARCH_ADVANCED) || e->code != ERR_INTERNAL || !reason)
		return -1;
	reason += 2;
	snprintf(why, sizeof why, "%s", reason + strcspn(reason, " "));
	return err_set(e, ERR_USAGE, "invalid search expression '%s':%s",
		       quoted(s->query).text, why);
}

static int walk_window(struct find *f, const struct search_match_in *in,
		       struct err *e)
{
	unsigned query = f->search->flags & SEARCH_NEWEST ? Q_SEARCH_NEWEST
							  : Q_SEARCH_BEST;
	struct sql_rows it = sql_rows(f->file->db, query, in);
	struct search_match_row row;
	int shows = 0;

	while (shows >= 0 && f->count < f->max && sql_next(&it, &row)) {
		int64_t who;

		shows = visible_who(&f->visible, row.pos, &who, e);
		if (shows > 0 && f->skip-- <= 0)
			keep_hit(f, &row, who);
	}
	if (sql_end(&it, shows < 0 ? &(struct err){0} : e))
		return shows < 0 ? -1 : explain(f->search, e);
	return shows < 0 ? -1 : 0;
}

/* The start of the window that ends at in->hi and contains in->count matches;
 * in->lo if there are fewer. */
static int find_edge(struct find *f, const struct search_match_in *in,
		     int64_t *edge, struct err *e)
{
	struct search_edge_row row;

	if (sql_get(f->file->db, Q_SEARCH_EDGE, in, &row, NULL, e) < 0)
		return explain(f->search, e);
	*edge = row.n < in->count ? in->lo : row.pos;
	return 0;
}

/* Reads window after window, the last matches first, until the page is full.
 * Each window is larger than the previous one, so the search as a whole stays
 * linear. */
static int walk_matches(struct find *f, struct search_match_in *in,
			struct err *e)
{
	int64_t lo = in->lo, edge = 0;

	for (in->count = SEARCH_WINDOW; f->count < f->max; in->count *= 4) {
		in->lo = lo;
		if (find_edge(f, in, &edge, e))
			return -1;
		in->lo = edge;
		if (walk_window(f, in, e))
			return -1;
		if (edge <= lo)
			return 0;
		in->hi = edge - 1;
	}
	return 0;
}

static int add_details(struct find *f, const char *match, struct err *e)
{
	const char *const *mark = f->search->mark;

	for (int i = 0; i < f->count; i++) {
		struct search_hit *hit = &f->hits[i];
		struct search_detail_in in = {match, hit->pos, hit->session,
					      mark[0] ? mark[0] : "[",
					      mark[1] ? mark[1] : "]"};
		struct search_detail_row row;

		int found = sql_get(f->file->db, Q_SEARCH_DETAIL, &in, &row,
				    f->arena, e);

		if (found <= 0)
			return found < 0 ? -1
					 : err_set(e, ERR_CORRUPT,
						   "%s: the search index is "
						   "damaged; rebuild it",
						   sql_path(f->file->db));
		hit->sid = row.sid;
		hit->key = row.key;
		hit->snippet = row.snippet;
		if (row.unknown_type)
			hit->type = row.unknown_type;
	}
	return 0;
}

static int run_match(struct find *f, const char *match, struct err *e)
{
	const struct search *s = f->search;
	struct search_match_in in = {
		.match = match,
		.lo = f->lo,
		.hi = f->hi,
		.type = OPT_NONE,
		.since = s->from,
		.until = s->until > 0 ? s->until : INT64_MAX,
	};
	int rc;

	if (s->type) {
		in.type = event_type_from(s->type);
		if (in.type == EVENT_unknown && strcmp(s->type, "unknown") != 0)
			in.unknown_type = s->type;
	}
	if (sql_rank(f->file->db, e) || sql_enter_read(f->file->db, e))
		return -1;
	rc = walk_matches(f, &in, e);
	if (!rc)
		rc = add_details(f, match, e);
	return sql_leave(f->file->db, rc, e);
}

/* --- the whole -------------------------------------------------------- */

/* A search in one session needs only that session and its bases. */
static int update(struct find *f, struct err *e)
{
	struct history h;
	struct arena a = {0};
	int rc;

	if (f->search->flags & SEARCH_AS_IS)
		return 0;
	if (!f->visible.only)
		return search_update(f->file, 0, f->search->watch, e) < 0 ? -1
									  : 0;
	rc = history_load(f->file, f->visible.only, HISTORY_LOG, &h, &a, e);
	for (int i = 0; !rc && i < h.count; i++)
		if (search_update(f->file, h.segments[i].session,
				  f->search->watch, e) < 0)
			rc = -1;
	arena_fini(&a);
	return rc;
}

static int resolve(struct find *f, struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	int rc = 0;

	if (f->search->session) {
		rc = session_need(f->file, f->search->session, &row, &a, e);
		if (!rc)
			f->visible.only = row.id;
		if (!rc && row.base == OPT_NONE) { /* else that of its base
						    * too */
			f->lo = event_pos(row.id, 0);
			f->hi = event_pos(row.id, EVENT_SEQ_MAX);
		}
	}
	arena_fini(&a);
	return rc;
}

static int check_search(const struct search *s, struct buf *match,
			struct err *e)
{
	if (s->skip < 0 || s->count < 0 || s->count > COUNT_MAX)
		return err_set(e, ERR_USAGE,
			       "the limit of a search is 1 to %d, and skip "
			       "is 0 or more",
			       COUNT_MAX);
	if (!(s->flags & SEARCH_ADVANCED))
		return search_text_query(s->query, match, e);
	if (strlen(s->query) > SEARCH_QUERY_MAX ||
	    !text_is_utf8(s->query, strlen(s->query)))
		return err_set(e, ERR_USAGE,
			       "the search text is not UTF-8 or longer than "
			       "%d bytes",
			       SEARCH_QUERY_MAX);
	return buf_adds(match, s->query);
}

int search_run(struct agent_file *file, const struct search *s,
	       struct search_hit **hits, struct arena *a, struct err *e)
{
	struct find f = {
		.file = file,
		.search = s,
		.arena = a,
		.max = s->count ? s->count : COUNT,
		.skip = s->skip,
		.hi = INT64_MAX,
		.visible = {.file = file,
			    .view = s->flags & SEARCH_HIDDEN ? HISTORY_LOG
							     : HISTORY_PATH,
			    .archived = s->flags & SEARCH_ARCHIVED},
	};
	struct buf match = BUF_MAX((size_t)8 * SEARCH_QUERY_MAX);
	int rc = check_search(s, &match, e);

	if (!rc)
		rc = resolve(&f, e);
	if (!rc)
		rc = update(&f, e);
	if (!rc) {
		f.hits = arena_alloc(a, (size_t)f.max * sizeof *f.hits);
		rc = run_match(&f, match.p, e);
	}
	visible_fini(&f.visible);
	buf_fini(&match);
	*hits = f.hits;
	return rc ? -1 : f.count;
}
