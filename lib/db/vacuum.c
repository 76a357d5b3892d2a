#include "lib/db/vacuum.h"

#include "lib/db/bulk.h"
#include "lib/db/internal.h"

#include <inttypes.h>
#include <stdio.h>

int64_t sql_vacuum_some(struct sql *db, int64_t pages, struct err *e)
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
int sql_vacuum_all(struct sql *db, struct err *e)
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

/* VACUUM first writes the new file as a temporary database: as a file, because
 * it may not fit in memory. */
int sql_vacuum(struct sql *db, struct err *e)
{
	struct err ignored;
	int rc = sql_run(db, "PRAGMA temp_store=FILE", e) ||
		 sql_script(db, "VACUUM", e);

	return sql_run(db, "PRAGMA temp_store=MEMORY", rc ? &ignored : e) || rc
		       ? -1
		       : 0;
}
