#ifndef SCHEMA_CONTROL_REGISTRY_H
#define SCHEMA_CONTROL_REGISTRY_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/agent/agent_file.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * The registry of agent files: nobody puts a path together, everybody asks
 * here. A row says path, schema version, epoch and size; the file says whose it
 * is and its epoch, so that neither a file that was swapped nor an owner that
 * was given up goes unnoticed.
 */

/* The row of an agent's file: 1, 0 if it has none yet, -1. */
int registry_find(struct sql *control, const char *agent,
		  struct agent_database_row *row, struct arena *a,
		  struct err *e);

/* The same; on first use the file is made at its usual place and registered.
 * Killed in between, it is found and registered the next time. */
int registry_make(struct sql *control, const struct home *home,
		  const char *agent, struct agent_database_row *row,
		  struct arena *a, struct err *e);

/*
 * Opens the file that a row names, as a worker does too, who got the row's
 * fields in a message. Flags as for sql_open, without SQL_CREATE. ERR_NOTFOUND
 * names the path of a file that is not there any more; ERR_CONFLICT: it is
 * another agent's file; ERR_STALE: the file has a newer epoch.
 */
int registry_open(const struct agent_database_row *row, unsigned flags,
		  struct agent_file *out, struct err *e);

/* Notes size, schema version and the time in the row, and in *row. */
int registry_seen(struct sql *control, struct agent_database_row *row,
		  struct err *e);

/* The file was moved to `path`, where it must be, and be this agent's. */
int registry_move(struct sql *control, const char *agent, const char *path,
		  struct err *e);

/*
 * Another file of the agent, at `path`, takes the place of the one that the row
 * names: in two steps, so that at any moment row and file fit. First, inside a
 * transaction, the row gets the new file's epoch, above that of the old one;
 * ERR_BUSY if anybody has the old file open. Then, once that is committed, the
 * files change places: the old one is then at `before`.
 */
int registry_swap(struct sql *control, const char *agent, const char *path,
		  struct agent_database_row *row, struct arena *a,
		  struct err *e);
int registry_swap_files(const struct agent_database_row *row, const char *path,
			const char *before, struct err *e);

/* Where the file that is replaced by `path` will be kept. */
const char *registry_before(const char *path, struct arena *a);

/* The row goes; the file stays. */
int registry_forget(struct sql *control, const char *agent, struct err *e);

#endif
