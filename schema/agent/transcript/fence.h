#ifndef SCHEMA_AGENT_TRANSCRIPT_FENCE_H
#define SCHEMA_AGENT_TRANSCRIPT_FENCE_H

#include "schema/agent/agent_file.h"

/*
 * How an attempt ended, according to its agent's file, after its processes are
 * gone. A process that was killed in the middle of a commit may have written
 * all of it to the log without publishing it: readers do not see it, but the
 * next recovery of the log does. So the file is written to before it is read.
 * From then on such a commit is overwritten, and what was read is on the disk.
 */
struct run_ending {
	bool began;      /* the attempt is in the file */
	bool ended;      /* and so is its end: */
	char status[16]; /* a word of run.status */
	char reason[64];
	int64_t last_seq; /* of the run's last event; 0: it has none */
};

int run_fence(struct agent_file *f, const char *run, int64_t attempt,
	      struct run_ending *out, struct err *e);

/* The attempt will be followed by another one: nothing may be written for it
 * any more, and it has no end. run_fence opens it again. */
int run_abandon(struct agent_file *f, const char *run, const char *reason,
		struct err *e);

/* The seq of the run's last event, or 0. */
int run_last_seq(struct agent_file *f, const char *run, int64_t *out,
		 struct err *e);

#endif
