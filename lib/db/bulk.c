#include "lib/db/bulk.h"

#include "lib/db/internal.h"

#include <assert.h>

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
