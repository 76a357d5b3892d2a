#ifndef SCHEMA_AGENT_TRANSCRIPT_RUN_SPAN_H
#define SCHEMA_AGENT_TRANSCRIPT_RUN_SPAN_H

#include "schema/agent/agent_file.h"

/*
 * Where the events of a run are in its session, without a look at the others. A
 * session has one run at a time, so the events of its runs do not mix.
 */
struct run_span {
	int64_t first; /* seq */
	int64_t last;  /* EVENT_SEQ_MAX: no other run has followed yet */
};

/* 1; 0 if the run has not begun in this file; -1. */
int run_span_read(struct agent_file *f, const char *run, int64_t session,
		  struct run_span *out, struct err *e);

#endif
