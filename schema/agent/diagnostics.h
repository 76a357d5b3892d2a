#ifndef SCHEMA_AGENT_DIAGNOSTICS_H
#define SCHEMA_AGENT_DIAGNOSTICS_H

#include "lib/db/sql.h"

/*
 * Debug records (how a command was started, lines that make no sense …) as
 * rows, for who hunts a fault. Off unless switched on for the agent or the
 * host; then the newest rows are kept, and each is cut to 64 KiB. Never put
 * secrets in.
 */
#define DIAGNOSTICS_BODY_MAX 65536
#define DIAGNOSTICS_ROWS_MAX 100000

/* Keeps the newest `rows` records from now on; 0 switches off and removes all. */
int diagnostics_set(struct sql *db, int64_t rows, struct err *e);
/* How many are kept; 0 is off. A file for which nobody has said it keeps
 * `otherwise`. */
int diagnostics_limit(struct sql *db, int64_t otherwise, int64_t *rows,
		      struct err *e);

/* Returns 1 if a row was added, 0 when off. subject may be NULL. */
int diagnostics_add(struct sql *db, int64_t otherwise, const char *area,
		    const char *subject, const char *body, struct err *e);

/* All records of an area (NULL: all areas), oldest first, one JSON object a
 * line, to fd; returns how many. */
int diagnostics_export(struct sql *db, const char *area, int fd, struct err *e);

#endif
