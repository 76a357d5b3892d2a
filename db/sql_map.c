#include "db/sql_conn.h"

/*
 * Reading through a mapping of the file: for large blobs it takes half of the
 * CPU time, since SQLite else makes a system call for each page of 4 KiB. Only
 * for connections that do not write. A disk that fails to read, or a program
 * other than SQLite that cuts the file, then ends the process (SIGBUS) instead
 * of giving an error.
 */
#define MAP_MAX INT64_C(0x7fff0000) /* SQLite's own limit */

static int set_size(struct sql *db, int64_t bytes)
{
	sqlite3_int64 size = bytes;

	return sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_MMAP_SIZE,
				    &size);
}

int sql_map(struct sql *db, struct err *e)
{
	return sql_run(db, "PRAGMA mmap_size=2147418112", e); /* MAP_MAX */
}

void sql_map_drop(struct sql *db)
{
	if (sqlite3_get_autocommit(db->conn) && set_size(db, 0) == SQLITE_OK)
		(void)set_size(db, MAP_MAX); /* mapped when next needed */
}
