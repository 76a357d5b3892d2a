#ifndef SCHEMA_AGENT_TRANSCRIPT_BRANCH_H
#define SCHEMA_AGENT_TRANSCRIPT_BRANCH_H

#include "schema/agent/transcript/writer.h"

/*
 * Branches of a conversation: forks, rewinds, compactions, and the deletion of
 * sessions that others stand on. None of them is done to a session while a run
 * writes to it (ERR_BUSY), except a fork by pointer, which changes nothing.
 */
struct fork_new {
	const char *from;  /* key of the session */
	int64_t at;        /* last seq to take along; 0: what it shows last */
	const char *key;   /* of the new session; must be free */
	const char *title; /* NULL: as the origin */
	bool copy;         /* copy the events (new ids) instead of pointing */
	bool is_ephemeral; /* hidden from lists */
};

/* By pointer: one row, no event is copied, whatever the length. A fork has no
 * standing permissions. */
int session_fork(struct agent_file *f, const struct fork_new *n,
		 struct session_row *row, struct arena *a, struct err *e);

/* The family of a session, from its farthest ancestor down, deepest last. */
int session_tree(struct agent_file *f, const char *key,
		 struct session_lineage **rows, struct arena *a, struct err *e);

/* Hides what follows seq; the next event follows it. 0 hides everything. */
int session_rewind(struct agent_file *f, const char *key, int64_t seq,
		   struct err *e);

/* Undoes the last rewind that was not undone. ERR_NOTFOUND if there is none. */
int session_restore(struct agent_file *f, const char *key, struct err *e);

/* Forks keep their history whole: what they need stays, unseen, until the last
 * of them is gone. */
int session_delete(struct agent_file *f, const char *key, struct err *e);

/* An event and a row that say: for the model, `summary` stands for everything up
 * to seq `upto`. The log stays as it is. */
struct compaction_new {
	int64_t upto;
	const char *summary;
	int64_t tokens_before; /* or OPT_NONE */
	int64_t tokens_after;
};

int session_compact(struct writer *w, const struct compaction_new *c,
		    struct event_ref *out, struct err *e);

#endif
