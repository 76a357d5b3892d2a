#ifndef SCHEMA_AGENT_TRANSCRIPT_ANSWER_H
#define SCHEMA_AGENT_TRANSCRIPT_ANSWER_H

#include "lib/base/buf.h"
#include "schema/agent/agent_file.h"
#include "schema/agent_queries.h"

/*
 * The answer of a run: the last assistant message of its last attempt, or all
 * that a command printed in it. An answer that is longer than the buffer may
 * become is cut.
 */

/* From the events between two positions. */
int answer_read(struct sql *db, const struct answer_events_in *range,
		struct buf *answer, struct err *e);

/* Of a run of a session; nothing is added if the run has not begun. */
int answer_of_run(struct agent_file *f, const char *run, const char *session,
		  struct buf *answer, struct err *e);

#endif
