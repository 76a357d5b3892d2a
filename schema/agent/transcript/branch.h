#ifndef SCHEMA_AGENT_TRANSCRIPT_BRANCH_H
#define SCHEMA_AGENT_TRANSCRIPT_BRANCH_H

#include "schema/agent/transcript/writer.h"

/*
 * Branches: forks, rewinds, compactions, and the deletion of sessions that are
 * the base of others. While a run writes to a session, they fail with ERR_BUSY,
 * except a fork by pointer, which does not change the session.
 */
struct fork_new {
	const char *from;  /* key of the session */
	int64_t at;        /* last seq to include; 0: the last one that it
			    * shows */
	const char *key;   /* of the new session; must not be in use */
	const char *title; /* NULL: that of the origin */
	bool copy;         /* copy the events (with new ids) instead of
			    * referring to them */
	bool is_ephemeral; /* hidden from lists */
};

/* By pointer: adds one row and copies no event, for any length. A fork has no
 * standing permissions. */
int session_fork(struct agent_file *f, const struct fork_new *n,
		 struct session_row *row, struct arena *a, struct err *e);

/* The tree of a session, from its oldest ancestor downwards. */
int session_tree(struct agent_file *f, const char *key,
		 struct session_lineage **rows, struct arena *a, struct err *e);

/* Hides the events after seq; the next event follows it. 0 hides everything. */
int session_rewind(struct agent_file *f, const char *key, int64_t seq,
		   struct err *e);

/* Undoes the last rewind that is not undone yet. ERR_NOTFOUND if there is
 * none. */
int session_restore(struct agent_file *f, const char *key, struct err *e);

/* Forks keep their whole history: the events that they need stay, hidden, until
 * the last fork is deleted. */
int session_delete(struct agent_file *f, const char *key, struct err *e);

/* Adds an event and a row: for the model, `summary` replaces everything up to
 * seq `upto`. The log stays complete. */
struct compaction_new {
	int64_t upto;
	const char *summary;
	int64_t tokens_before; /* or OPT_NONE */
	int64_t tokens_after;
};

int session_compact(struct writer *w, const struct compaction_new *c,
		    struct event_ref *out, struct err *e);

#endif
