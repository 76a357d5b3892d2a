#ifndef SCHEMA_AGENT_TRANSCRIPT_WRITER_H
#define SCHEMA_AGENT_TRANSCRIPT_WRITER_H

#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/event.h"

/*
 * Appending to the transcript of one session. Each append is one transaction:
 * fence, session, idempotency key, parent, event, and what belongs to it (usage,
 * outbox row). Nothing of it is there, or all.
 *
 * The next number and the leaf are kept in memory and used as long as no other
 * process, and nothing else on this connection, has committed since; then they
 * are read again. So a writer alone needs one INSERT, several stay right.
 */
struct writer {
	struct agent_file *file;
	char sid[ID_SIZE];
	int64_t session; /* session.id */
	int64_t run;     /* run.id, or OPT_NONE */
	int64_t epoch;   /* 0: no fence */
	int64_t attempt;
	uint32_t generation; /* sql_generation and sql_commits when tail and */
	uint64_t commits;    /* leaf were true; others and we moved on if not */
	int64_t tail;    /* last seq, base_seq of a fork with no events yet */
	int64_t leaf;    /* seq that the next event follows */
	bool leaf_fixed; /* the row has a leaf, to be cleared by an append */
};

struct writer_run { /* for whom we write; fences out older attempts */
	const char *run_id;
	int64_t attempt;
	int64_t epoch;
};

struct usage_new {
	const char *model;
	int64_t input;
	int64_t output;
	int64_t cached;
	int64_t reasoning;
	int64_t cost_nano;
};

struct outbox_new {
	const char *key;    /* idempotency key of the delivery */
	const char *target; /* JSON object: channel, conversation … */
	const char *body;   /* JSON object */
};

#define WRITER_LEAF INT64_C(-1) /* parent: whatever the session shows last */

struct event_new {
	const char *type; /* a word of event_type.def; others are kept too */
	const char *body; /* JSON; NULL is {} */
	const char *key;  /* idempotency key, or NULL */
	const char *event_id; /* an id from elsewhere, or NULL */
	int64_t parent;       /* a seq, 0 for a root, or WRITER_LEAF */
	int64_t at;           /* milliseconds; 0: now */
	const struct usage_new *usage;
	const struct outbox_new *outbox;
};

struct event_ref {
	int64_t pos;
	int64_t seq;
	bool repeated; /* the key was there: nothing was added */
};

/* Opens for a session, made if it is not there. `run` may be NULL. An attempt
 * that a later one has replaced is ERR_STALE. */
int writer_open(struct writer *w, struct agent_file *f, const char *session_key,
		const struct writer_run *run, struct err *e);

/*
 * Appends; on the disk when it returns. ERR_CONFLICT: the key was used for
 * other content. ERR_STALE: another attempt has the run now. ERR_NOTFOUND:
 * the session or parent is gone.
 */
int writer_append(struct writer *w, const struct event_new *ev,
		  struct event_ref *out, struct err *e);

/* The same for n events in one transaction; out has room for n. */
int writer_append_batch(struct writer *w, const struct event_new *ev, size_t n,
			struct event_ref *out, struct err *e);

/* Was the key used in this session? 1, 0 or -1. */
int writer_has_key(struct writer *w, const char *key, struct err *e);

/* The same for the output of a run as it comes: it does not wait for the disk,
 * except for events with an outbox row. The end of the run covers it. */
int writer_stream(struct writer *w, const struct event_new *ev, size_t n,
		  struct event_ref *out, struct err *e);

/* Inside a transaction of the caller: checks the fence and renews what is kept
 * in memory if need be. Part and branch verbs start with it. */
int writer_check(struct writer *w, struct err *e);

/* The system prompt as an event, once: the same text again adds nothing. */
int writer_set_system(struct writer *w, const char *text, struct event_ref *out,
		      struct err *e);

/* The end of the run: its last event and its status, on the disk. */
int writer_end_run(struct writer *w, const struct event_new *last,
		   const char *status, const char *reason,
		   struct event_ref *out, struct err *e);

#endif
