#include "lib/db/bulk.h"

#include "lib/db/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* A smaller cache is not a reason to fail. */
static void set_cache(struct sql *db, int kib)
{
	struct err ignored;

	sql_cache(db, kib, &ignored);
}

void sql_bulk_begin(struct sql *db)
{
	if (db->bulks++ == 0)
		set_cache(db, SQL_BULK_KIB);
}

void sql_bulk_end(struct sql *db)
{
	assert(db->bulks > 0);
	if (--db->bulks == 0)
		set_cache(db, SQL_CACHE_KIB);
}

int64_t sql_give_back(struct sql *db, int64_t pages, struct err *e)
{
	int64_t before = 0, after = 0;
	char text[64];

	snprintf(text, sizeof text, "PRAGMA incremental_vacuum(%" PRId64 ")",
		 pages);
	if (pages <= 0)
		return 0;
	if (sql_script_i64(db, "PRAGMA freelist_count", &before, e) ||
	    sql_script(db, text, e) ||
	    sql_script_i64(db, "PRAGMA freelist_count", &after, e))
		return -1;
	return before - after;
}

/* In this mode SQLite moves all pages into the free ones when it commits, and
 * drops its list of free pages. incremental_vacuum searches that list for each
 * page. The mode is stored in the file; if we die meanwhile, sql_open resets
 * it. */
int sql_give_back_all(struct sql *db, struct err *e)
{
	int rc;

	sql_bulk_begin(db);
	rc = sql_script(db, "PRAGMA auto_vacuum=FULL", e);
	sql_bulk_end(db);
	return sql_script(db, "PRAGMA auto_vacuum=INCREMENTAL",
			  rc ? &(struct err){0} : e) ||
			       rc
		       ? -1
		       : 0;
}
