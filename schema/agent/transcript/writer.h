#ifndef SCHEMA_AGENT_TRANSCRIPT_WRITER_H
#define SCHEMA_AGENT_TRANSCRIPT_WRITER_H

#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/event.h"

/*
 * Appends to the transcript of one session. Each append is one transaction:
 * fence, session, idempotency key, parent, event, and dependent rows (usage,
 * outbox row). It is stored completely or not at all.
 *
 * The next number and the leaf are cached in memory as long as no other
 * process, and nothing else on this connection, has committed since; then they
 * are read again. So a single writer needs one INSERT, and several writers stay
 * correct.
 */
struct writer {
	struct agent_file *file;
	char sid[ID_SIZE];
	int64_t session; /* session.id */
	int64_t run;     /* run.id, or OPT_NONE */
	int64_t epoch;   /* 0: no fence */
	int64_t attempt;
	uint32_t generation; /* sql_generation and sql_commits when tail and */
	uint64_t commits;    /* leaf were valid; if they changed, read again */
	int64_t tail;        /* last seq; base_seq for a fork without events */
	int64_t leaf;        /* seq of the parent of the next event */
	bool leaf_fixed;     /* the row has a leaf, which an append clears */
	/* writer_open failed because the session names this workspace */
	bool other_workspace;
	char workspace[65]; /* "": none */
};

struct writer_run { /* the attempt that writes; older attempts are fenced off */
	const char *run_id;
	int64_t attempt;
	int64_t epoch;
	const char *workspace; /* namespace in which it works, or NULL */
	/* what the session must name ("": nothing), or NULL: anything */
	const char *session_workspace;
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

#define WRITER_LEAF \
	INT64_C(-1) /* parent: the last event that the session
				 * shows */

struct event_new {
	const char *type; /* a word of event_type.def; others are stored too */
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
	bool repeated; /* the key existed: nothing was added */
};

/* Opens a session and creates it if it does not exist. `run` may be NULL.
 * ERR_STALE if a later attempt has replaced this one, or if the session names
 * another workspace than the run assumed. */
int writer_open(struct writer *w, struct agent_file *f, const char *session_key,
		const struct writer_run *run, struct err *e);

/*
 * Appends an event; it is on disk when the function returns. ERR_CONFLICT: the
 * key was used with other content. ERR_STALE: another attempt has the run now.
 * ERR_NOTFOUND: the session or parent was deleted.
 */
int writer_append(struct writer *w, const struct event_new *ev,
		  struct event_ref *out, struct err *e);

/* The same for n events in one transaction; out has room for n. */
int writer_append_batch(struct writer *w, const struct event_new *ev, size_t n,
			struct event_ref *out, struct err *e);

/* Was the key used in this session? Returns 1, 0 or -1. */
int writer_has_key(struct writer *w, const char *key, struct err *e);

/* The same for streamed output of a run: it does not wait for the disk, except
 * for events with an outbox row. The end of the run makes it durable. */
int writer_stream(struct writer *w, const struct event_new *ev, size_t n,
		  struct event_ref *out, struct err *e);

/* In a transaction of the caller: checks the fence and refreshes the cached
 * state. Functions on parts and branches start with it. */
int writer_check(struct writer *w, struct err *e);

/* Stores the system prompt as an event; the same text again adds nothing. */
int writer_set_system(struct writer *w, const char *text, struct event_ref *out,
		      struct err *e);

/* Ends the run: its last event and its status, on disk. */
int writer_end_run(struct writer *w, const struct event_new *last,
		   const char *status, const char *reason,
		   struct event_ref *out, struct err *e);

#endif
