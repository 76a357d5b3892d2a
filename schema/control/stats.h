#ifndef SCHEMA_CONTROL_STATS_H
#define SCHEMA_CONTROL_STATS_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/shape.h"
#include "lib/db/sql.h"

/*
 * Statistics of a database, for users and monitoring: sizes, the pragmas of a
 * connection, rows of each table, and the number of rows by status. Works on
 * both kinds of files, also read-only; stats.def lists the columns that are
 * counted. Texts are in the arena.
 */
#define PRAGMAS(F, S)            \
	F(S, text, journal_mode) \
	F(S, text, synchronous)  \
	F(S, i64, busy_timeout)  \
	F(S, bool, foreign_keys) F(S, bool, secure_delete)
SHAPE_DECLARE(pragmas, PRAGMAS);

#define STATS(F, S)                                                            \
	F(S, text, database) /* "control", "agent" */                          \
	F(S, text, process) /* process of the connection with these pragmas */ \
	F(S, text, agent)   /* agent; NULL for the control plane */            \
	F(S, text, path)                                                       \
	F(S, i64, bytes)                                                       \
	F(S, i64, wal_bytes)                                                   \
	F(S, i64, free_bytes)                                                  \
	F(S, i64, schema_version)                                              \
	PRAGMAS(F, S)                                                          \
	F(S, json, rows)                                                       \
	F(S, json, statuses)                                                   \
	F(S, json, langgraph) /* for agent files; NULL else */                 \
	F(S, json, readers)   /* current readers; set by the caller */         \
	F(S, text, problem)   /* why there are no figures, or NULL */
SHAPE_DECLARE(stats, STATS);

/* Adds the same as JSON to b; a process reports its connections with it. */
int stats_add_pragmas(struct sql *db, struct buf *b, struct err *e);

/* Overwrites the pragmas in s. */
void stats_set_pragmas(struct stats *s, const struct pragmas *p);

/* Sets everything except process, agent, readers and problem. */
int stats_read(struct sql *db, const char *database, struct stats *out,
	       struct arena *a, struct err *e);

/* Sizes only, for a file that could not be opened. */
void stats_sizes(const char *path, struct stats *out);

#endif
