#ifndef SCHEMA_AGENT_DIAGNOSTICS_H
#define SCHEMA_AGENT_DIAGNOSTICS_H

#include "lib/db/sql.h"

/*
 * Debug records as rows, for example how a command was started, or invalid
 * lines. Off unless enabled for the agent or the host. Only the newest rows are
 * kept, each cut to 64 KiB. Do not store secrets in them.
 */
#define DIAGNOSTICS_BODY_MAX 65536
#define DIAGNOSTICS_ROWS_MAX 100000

/* Keeps the newest `rows` records from now on; 0 disables them and deletes
 * all. */
int diagnostics_set(struct sql *db, int64_t rows, struct err *e);
/* The number of records that are kept; 0: off. `otherwise` is the value for a
 * file without a setting. */
int diagnostics_limit(struct sql *db, int64_t otherwise, int64_t *rows,
		      struct err *e);

/* Returns 1 if a row was added, 0 if they are off. subject may be NULL. */
int diagnostics_add(struct sql *db, int64_t otherwise, const char *area,
		    const char *subject, const char *body, struct err *e);

/* Writes all records of an area (NULL: all areas) to fd, oldest first, one JSON
 * object per line; returns their number. */
int diagnostics_export(struct sql *db, const char *area, int fd, struct err *e);

#endif
