#ifndef WORKER_JOURNAL_H
#define WORKER_JOURNAL_H

#include "base/err.h"
#include "ipc/client.h"
#include "ipc/reason.h"
#include "schema/part.h"
#include "schema/writer.h"

#include <stdatomic.h>

/*
 * What the worker writes: the agent's file, the session's transcript, and a hint
 * to the supervisor after each commit. Truth is what is committed; a hint that
 * is lost costs time only. Used by the working thread alone, but for the
 * numbers that the link's thread reads.
 */
struct journal {
	struct agent_file file;
	struct writer writer;
	struct ipc_client *link; /* borrowed */
	bool open;
	_Atomic int64_t seq;     /* last event */
	_Atomic int64_t rev;     /* counts commits */
	_Atomic int64_t touched; /* clock_mono_ns of the last commit */
	struct msg_usage spent;  /* sums of this attempt */
	char model[128];
};

/* Opens the file and the session for this attempt, and closes as aborted what
 * an earlier attempt left half done. */
int journal_open(struct journal *j, const struct msg_start *s,
		 struct ipc_client *link, struct err *e);
void journal_close(struct journal *j);

/* Commits n events together. With refs NULL nobody wants to know where. */
int journal_add(struct journal *j, const struct event_new *ev, size_t n,
		struct event_ref *refs, struct err *e);

/* One event whose body is made by printf. */
int journal_addf(struct journal *j, const char *type, const char *key,
		 struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* To be called after a change of a part: tells the supervisor. */
void journal_changed(struct journal *j);

/* The last event and the status of the run, on the disk. */
int journal_end(struct journal *j, const struct event_new *last,
		enum reason reason, struct err *e);

#endif
