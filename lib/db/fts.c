#include "lib/db/fts.h"

#include "lib/db/bulk.h"
#include "lib/db/internal.h"

#include <stdio.h>

#define FEW_BATCHES 6    /* FTS5 merges these without help */
#define ROUND       900  /* batches of one or two segments */
#define ROOM        1950 /* segments; FTS5 fails with 2000 */
#define PAGES       1000 /* of merged index in a transaction */

/* FTS5's own values. */
#define AUTOMERGE   4
#define CRISISMERGE 16

static int set_option(struct fts_build *b, const char *what, int value,
		      struct err *e)
{
	char text[160];

	snprintf(text, sizeof text,
		 "INSERT INTO %s (%s, rank) VALUES ('%s', %d)", b->table,
		 b->table, what, value);
	return sql_run(b->db, text, e);
}

/* Whether segments are being collected, by us or by a process that died: 1, 0,
 * -1. */
static int is_collecting(struct fts_build *b, struct err *e)
{
	char text[160];
	int64_t n;

	snprintf(text, sizeof text,
		 "SELECT count(*) FROM %s_config WHERE k = 'automerge' AND "
		 "v = 0",
		 b->table);
	return sql_script_i64(b->db, text, &n, e) ? -1 : n > 0;
}

/* Merges up to PAGES; 1 if there may be more, 0, -1. If there is nothing to
 * merge, FTS5 changes at most one row. */
static int merge_some(struct fts_build *b, struct err *e)
{
	int before = sqlite3_total_changes(b->db->conn);

	if (set_option(b, "merge", PAGES, e))
		return -1;
	return sqlite3_total_changes(b->db->conn) - before >= 2;
}

static int merge_all(struct fts_build *b, struct err *e)
{
	int more;

	sql_bulk_begin(b->db);
	do {
		more = sql_enter_relaxed(b->db, e)
			       ? -1
			       : sql_leave(b->db, merge_some(b, e), e);
	} while (more > 0);
	sql_bulk_end(b->db);
	return more;
}

static int set_merge_options(struct fts_build *b, int automerge,
			     int crisismerge, struct err *e)
{
	int rc;

	if (sql_enter_relaxed(b->db, e))
		return -1;
	rc = set_option(b, "automerge", automerge, e);
	if (rc == 0)
		rc = set_option(b, "crisismerge", crisismerge, e);
	return sql_leave(b->db, rc, e);
}

int fts_build_batch(struct fts_build *b, struct err *e)
{
	b->batches++;
	if (b->batches == FEW_BATCHES)
		return set_merge_options(b, 0, ROOM, e);
	return b->batches % ROUND ? 0 : merge_all(b, e);
}

int fts_build_end(struct fts_build *b, struct err *e)
{
	int on = is_collecting(b, e);

	if (on <= 0)
		return on;
	return merge_all(b, e)
		       ? -1
		       : set_merge_options(b, AUTOMERGE, CRISISMERGE, e);
}
