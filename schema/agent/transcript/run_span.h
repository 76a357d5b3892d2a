#ifndef SCHEMA_AGENT_TRANSCRIPT_RUN_SPAN_H
#define SCHEMA_AGENT_TRANSCRIPT_RUN_SPAN_H

#include "schema/agent/agent_file.h"

/*
 * The range of a run's events in its session, found without reading other
 * events. A session has one run at a time, so the events of its runs do not
 * mix.
 */
struct run_span {
	int64_t first; /* seq */
	int64_t last;  /* EVENT_SEQ_MAX: no other run has followed yet */
};

/* Returns 1, 0 if the run has not begun in this file, or -1. */
int run_span_read(struct agent_file *f, const char *run, int64_t session,
		  struct run_span *out, struct err *e);

#endif
