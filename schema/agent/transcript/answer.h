#ifndef SCHEMA_AGENT_TRANSCRIPT_ANSWER_H
#define SCHEMA_AGENT_TRANSCRIPT_ANSWER_H

#include "lib/base/buf.h"
#include "schema/agent/agent_file.h"
#include "schema/agent_queries.h"

/*
 * The answer of a run: the last assistant message of its last attempt, or the
 * complete output of a command. It is cut if it exceeds the limit of the
 * buffer.
 */

/* Reads the events between two positions. */
int answer_read(struct sql *db, const struct answer_events_in *range,
		struct buf *answer, struct err *e);

/* Reads a run of a session; adds nothing if the run has not begun. */
int answer_of_run(struct agent_file *f, const char *run, const char *session,
		  struct buf *answer, struct err *e);

#endif
