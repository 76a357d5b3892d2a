#ifndef LIB_DB_INTEGRITY_H
#define LIB_DB_INTEGRITY_H

#include "lib/base/arena.h"
#include "lib/db/snapshot.h"
#include "lib/db/sql.h"

/* Whether a database is intact: integrity_check and foreign_key_check. */

/* Of a file that no process writes, or of an image. */
struct db_health {
	int64_t pages;
	int64_t page_size;
	int version;            /* of the schema */
	int32_t application_id; /* which kind of database */
	const char *problem;    /* in the arena; NULL: intact */
};

/* Does not change the file or create files beside it. -1 only if it cannot be
 * read at all. */
int db_check(const char *path, struct db_health *out, struct arena *a,
	     struct err *e);
int db_check_image(const struct db_image *image, struct db_health *out,
		   struct arena *a, struct err *e);

/*
 * The same for a database that is in use. A small one is read in one
 * transaction, a larger one table by table, each as of a different moment, so
 * that no read transaction is long. `at` (or NULL) is called after each table
 * with the number done and the total. *problem is NULL if the database is
 * intact, else in the arena.
 */
int db_check_live(struct sql *db,
		  void (*at)(void *arg, int64_t done, int64_t total), void *arg,
		  const char **problem, struct arena *a, struct err *e);

#endif
