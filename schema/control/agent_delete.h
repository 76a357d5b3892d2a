#ifndef SCHEMA_CONTROL_AGENT_DELETE_H
#define SCHEMA_CONTROL_AGENT_DELETE_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/home.h"

/*
 * Removing an agent with its data, in two steps: first, inside a transaction,
 * the rows; then, once that is committed, the files. Files without a row are
 * found again; a row without its file would be a loss.
 */

/* *path is where the database is, in the arena, or NULL. */
int agent_delete_rows(struct sql *control, const char *agent, const char **path,
		      struct arena *a, struct err *e);

/* The database at `path` (may be NULL), and the definition in agents/NAME; that
 * directory too, unless something else is in it. */
int agent_delete_files(const struct home *home, const char *agent,
		       const char *path, struct err *e);

#endif
