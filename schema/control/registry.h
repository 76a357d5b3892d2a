#ifndef SCHEMA_CONTROL_REGISTRY_H
#define SCHEMA_CONTROL_REGISTRY_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/agent/agent_file.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * The registry of agent files: the only source of their paths. A row contains
 * path, schema version, epoch and size. The file contains its owner and its
 * epoch, so a file that was swapped and an owner that was replaced are both
 * detected.
 */

/* The default path of an agent's file, without links in the path of the home:
 * so the row gets a path relative to the home. The file may be missing. */
struct home_path registry_path(const struct home *home, const char *agent);

/* The row of an agent's file: returns 1, 0 if there is none yet, or -1. */
int registry_find(struct sql *control, const char *agent,
		  struct agent_database_row *row, struct arena *a,
		  struct err *e);

/* The same, but on first use the file is created at its default path and
 * registered. If the process is killed in between, the next call finds and
 * registers the file. */
int registry_make(struct sql *control, const struct home *home,
		  const char *agent, struct agent_database_row *row,
		  struct arena *a, struct err *e);

/*
 * Opens the file of a row; workers use it too, with the values of a message.
 * Flags as for sql_open, without SQL_CREATE. ERR_NOTFOUND names the path of a
 * missing file; ERR_CONFLICT: it belongs to another agent; ERR_STALE: the file
 * has a newer epoch.
 */
int registry_open(const struct agent_database_row *row, unsigned flags,
		  struct agent_file *out, struct err *e);

/* Stores size, schema version and the time in the row, and in *row. */
int registry_seen(struct sql *control, struct agent_database_row *row,
		  struct err *e);

/* Stores the size of the file and the time in the row. It does not open the file,
 * so a process that has it open may call it. */
int registry_measure(struct sql *control, const char *agent, struct err *e);

/* Records that the file was moved to `path`; it must exist there and belong to
 * this agent. */
int registry_move(struct sql *control, const char *agent, const char *path,
		  struct err *e);

/*
 * Replaces the file of the agent by another one at `path`, in two steps, so
 * that row and file match at any moment. First, inside a transaction, the row
 * gets the epoch of the new file, which is above that of the old one; ERR_BUSY
 * if a process has the old file open. After its commit, the files are
 * exchanged: the old one is then at `before`.
 */
int registry_swap(struct sql *control, const char *agent, const char *path,
		  struct agent_database_row *row, struct arena *a,
		  struct err *e);
int registry_swap_files(const struct agent_database_row *row, const char *path,
			const char *before, struct err *e);

/* Where the file that `path` replaces will be kept. */
const char *registry_before(const char *path, struct arena *a);

/* Deletes the row; the file stays. */
int registry_forget(struct sql *control, const char *agent, struct err *e);

#endif
