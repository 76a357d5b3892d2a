#ifndef SCHEMA_CONTROL_AGENT_DELETE_H
#define SCHEMA_CONTROL_AGENT_DELETE_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/home.h"

/*
 * Deletes an agent with its data, in two steps: first the rows, in a
 * transaction; after its commit, the files. Files without a row are found
 * again; a row without its file would be a loss.
 */

/* *path is the path of the database, in the arena, or NULL. */
int agent_delete_rows(struct sql *control, const char *agent, const char **path,
		      struct arena *a, struct err *e);

/* Deletes the database at `path` (may be NULL) and the definition in
 * agents/NAME; the directory too, unless it contains other files. */
int agent_delete_files(const struct home *home, const char *agent,
		       const char *path, struct err *e);

#endif
