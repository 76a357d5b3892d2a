#ifndef WORKER_PROCESS_OUTPUT_H
#define WORKER_PROCESS_OUTPUT_H

#include "worker/process/output_line.h"
#include "worker/run/run.h"
#include "worker/run/stream.h"

/*
 * Writes the output of a command to the transcript. Lines that arrived together
 * are committed together. Output beyond `max` bytes is counted and dropped; the
 * transcript then states how much.
 */
#define EXEC_BATCH    128
#define EXEC_LINE_MAX (64u << 10)
#define EXEC_LAST     160

struct exec_output {
	struct run *run; /* borrowed */
	struct stream stream;
	struct lines out, err;
	struct arena arena; /* of the buffered events */
	struct event_new events[EXEC_BATCH];
	size_t waiting;
	int64_t kept, dropped, max;
	char last_err[EXEC_LAST]; /* for the reason of a failure */
};

void exec_output_init(struct exec_output *o, struct run *r);
void exec_output_fini(struct exec_output *o);

/* Handles n bytes of stdout or stderr. */
int exec_output_add(struct exec_output *o, bool is_err, const char *p, size_t n,
		    struct err *e);

/* Commits buffered events, and growing parts that are due: see stream_flush. */
int exec_output_commit(struct exec_output *o, int64_t *wait_ms, struct err *e);

/* The end of both streams. `state` is the final state of growing parts. */
int exec_output_end(struct exec_output *o, const char *state, struct err *e);

#endif
