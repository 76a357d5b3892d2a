#include "lib/db/blob.h"

#include "lib/db/internal.h"

#include <stdlib.h>

struct sql_blob {
	struct sql *db;
	const char *table;
	sqlite3_blob *b;
};

int sql_blob_open(struct sql *db, const struct sql_blob_column *c, int64_t row,
		  bool write, struct sql_blob **h, struct err *e)
{
	sqlite3_blob *b;
	int rc;

	if (*h) {
		rc = sqlite3_blob_reopen((*h)->b, row);
		return rc == SQLITE_OK ? 0 : sql_fail(db, rc, c->table, e);
	}
	rc = sqlite3_blob_open(db->conn, "main", c->table, c->column, row,
			       write, &b);
	if (rc != SQLITE_OK)
		return sql_fail(db, rc, c->table, e);
	*h = malloc(sizeof **h);
	if (!*h)
		abort();
	**h = (struct sql_blob){db, c->table, b};
	return 0;
}

int sql_blob_read(struct sql_blob *h, void *p, size_t n, size_t off,
		  struct err *e)
{
	int rc = sqlite3_blob_read(h->b, p, (int)n, (int)off);

	return rc == SQLITE_OK ? 0 : sql_fail(h->db, rc, h->table, e);
}

int sql_blob_write(struct sql_blob *h, const void *p, size_t n, size_t off,
		   struct err *e)
{
	int rc = sqlite3_blob_write(h->b, p, (int)n, (int)off);

	return rc == SQLITE_OK ? 0 : sql_fail(h->db, rc, h->table, e);
}

void sql_blob_close(struct sql_blob *h)
{
	if (!h)
		return;
	sqlite3_blob_close(h->b);
	free(h);
}
