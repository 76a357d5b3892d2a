#ifndef SCHEMA_AGENT_TRANSCRIPT_FENCE_H
#define SCHEMA_AGENT_TRANSCRIPT_FENCE_H

#include "schema/agent/agent_file.h"

/*
 * How an attempt ended according to the agent file, after its processes have
 * exited. A process that was killed during a commit may have written all of it
 * to the WAL without publishing it: readers do not see it, but the next
 * recovery of the WAL does. So the file is written before it is read. After
 * that write, such a commit is overwritten, and everything that was read is on
 * disk.
 */
struct run_ending {
	bool began;      /* the file contains the attempt */
	bool ended;      /* and its end: */
	char status[16]; /* a word of run.status */
	char reason[64];
	int64_t last_seq; /* of the run's last event; 0: it has none */
};

int run_fence(struct agent_file *f, const char *run, int64_t attempt,
	      struct run_ending *out, struct err *e);

/* Another attempt will follow: this one must not write again and has no end.
 * run_fence makes it writable again. */
int run_abandon(struct agent_file *f, const char *run, const char *reason,
		struct err *e);

/* The seq of the run's last event, or 0. */
int run_last_seq(struct agent_file *f, const char *run, int64_t *out,
		 struct err *e);

#endif
