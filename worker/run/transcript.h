#ifndef WORKER_RUN_TRANSCRIPT_H
#define WORKER_RUN_TRANSCRIPT_H

#include "ipc/client.h"
#include "ipc/end_reason.h"
#include "lib/base/err.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/writer.h"

#include <stdatomic.h>

/*
 * What the worker writes: the agent's file, the session's transcript, and a hint
 * to the supervisor after each commit. Truth is what is committed; a hint that
 * is lost costs time only. Used by the working thread alone, but for the
 * numbers that the link's thread reads.
 */
struct transcript {
	struct agent_file file;
	struct writer writer;
	struct ipc_client *link; /* borrowed; NULL: nobody wants hints */
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

/* Opens the file, and changes nothing in it (one that is not there is made). */
int transcript_open(struct transcript *j, const struct msg_start *s,
		    struct ipc_client *link, struct err *e);

/* Then the session for this attempt, and closes as aborted what an earlier
 * attempt left half done. If it fails, the file is closed again. */
int transcript_begin(struct transcript *j, const struct msg_start *s,
		     struct err *e);
void transcript_close(struct transcript *j);

/* Before the process exits: closes the file if that does more than to free
 * memory. */
void transcript_leave(struct transcript *j);

/* Commits n events together. With refs NULL nobody wants to know where. */
int transcript_add(struct transcript *j, const struct event_new *ev, size_t n,
		   struct event_ref *refs, struct err *e);

/* Waits until everything committed so far is on the disk. For what precedes an
 * effect that a person or another program sees: a question, the confirmation of
 * a command, a tool call that must not be repeated. */
int transcript_sync(struct transcript *j, struct err *e);

/* The agent's system prompt, as an event before what is said under it. The same
 * one as the session has already adds nothing. */
int transcript_system(struct transcript *j, const char *text, struct err *e);

/* One event without a key. Frees the body. */
int transcript_add_body(struct transcript *j, const char *type,
			struct buf *body, struct err *e);

/* One event with a single member, "text". */
int transcript_add_text(struct transcript *j, const char *type, struct err *e,
			const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* To be called after a change of a part: tells the supervisor. */
void transcript_changed(struct transcript *j);

/* One batch of the session's search index, if that is behind: 1 if there may be
 * more, 0 otherwise. A failure is logged, and the next search does the work. */
int transcript_index(struct transcript *j);

/* The last event and the status of the run, on the disk. */
int transcript_end(struct transcript *j, const struct event_new *last,
		   enum reason reason, struct err *e);

#endif
