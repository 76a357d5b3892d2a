#ifndef SCHEMA_AGENT_AGENT_FILE_H
#define SCHEMA_AGENT_AGENT_FILE_H

#include "lib/base/err.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"

/*
 * The data plane of one agent: one SQLite file, opened by any number of
 * processes, each with its own connection. The path comes from the registry.
 *
 * The epoch is a fence. A process that gives the file to a new owner raises it
 * (agent_file_set_epoch). A writer that was opened with an older epoch can no
 * longer commit (ERR_STALE).
 */
struct agent_file {
	struct sql *db;
	char agent[72];
};

/* `flags` of lib/db/sql.h. With SQL_CREATE a new file is created for `agent`. A
 * file that belongs to another agent is rejected; `agent` NULL accepts any. */
int agent_file_open(struct agent_file *f, const char *path, const char *agent,
		    unsigned flags, struct err *e);
void agent_file_close(struct agent_file *f);

int agent_file_epoch(struct agent_file *f, int64_t *out, struct err *e);

/* Raises the epoch; ERR_STALE if it is not higher than the current one. */
int agent_file_set_epoch(struct agent_file *f, int64_t epoch, struct err *e);

/* Gives the file to another agent, with a higher epoch: for a copy of a file. */
int agent_file_set_owner(struct agent_file *f, const char *agent,
			 struct err *e);

#endif
