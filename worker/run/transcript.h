#ifndef WORKER_RUN_TRANSCRIPT_H
#define WORKER_RUN_TRANSCRIPT_H

#include "ipc/client.h"
#include "ipc/end_reason.h"
#include "lib/base/err.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/writer.h"

#include <stdatomic.h>

/*
 * What the worker writes: the agent file, the transcript of the session, and a
 * hint to the supervisor after each commit. Rows are authoritative; a lost hint
 * costs only time. Used only by the main thread, except for the numbers that
 * the IPC thread reads.
 */
struct transcript {
	struct agent_file file;
	struct writer writer;
	struct ipc_client *link; /* borrowed; NULL: no hints */
	bool open;
	int64_t first;           /* last event before this attempt */
	_Atomic int64_t seq;     /* last event */
	int64_t indexed;         /* event up to which the search index is known
				  * to be up to date; -1: it cannot be written */
	_Atomic int64_t rev;     /* counts commits */
	_Atomic int64_t touched; /* clock_mono_ns of the last commit */
	struct msg_usage spent;  /* sums of this attempt */
	char model[128];
};

/* Opens the file without changing it (a missing one is created). */
int transcript_open(struct transcript *j, const struct msg_start *s,
		    struct ipc_client *link, struct err *e);

/* Opens the session for this attempt, and closes parts that an earlier attempt
 * left open, as aborted. If it fails, the file is closed again. */
int transcript_begin(struct transcript *j, const struct msg_start *s,
		     struct err *e);
void transcript_close(struct transcript *j);

/* Before the process exits: closes the file if that does more than free
 * memory. */
void transcript_leave(struct transcript *j);

/* Commits n events together. refs may be NULL. */
int transcript_add(struct transcript *j, const struct event_new *ev, size_t n,
		   struct event_ref *refs, struct err *e);

/* Waits until everything committed so far is on disk. Call it before an effect
 * that a user or another program sees: a question, the confirmation of a
 * command, a tool call that must not be repeated. */
int transcript_sync(struct transcript *j, struct err *e);

/* Adds the agent's system prompt as an event before the messages that it
 * applies to, unless the session already has the same one. */
int transcript_system(struct transcript *j, const char *text, struct err *e);

/* Adds one event without a key. Frees the body. */
int transcript_add_body(struct transcript *j, const char *type,
			struct buf *body, struct err *e);

/* Adds one event with a single member, "text". */
int transcript_add_text(struct transcript *j, const char *type, struct err *e,
			const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Call it after a change of a part: sends a hint. */
void transcript_changed(struct transcript *j);

/* Updates one batch of the search index of the session: 1 if there may be more,
 * else 0. A failure is logged, and the next search does the work. */
int transcript_index(struct transcript *j);

/* Commits the last event and the status of the run to disk. */
int transcript_end(struct transcript *j, const struct event_new *last,
		   enum reason reason, struct err *e);

#endif
