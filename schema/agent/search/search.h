#ifndef SCHEMA_AGENT_SEARCH_SEARCH_H
#define SCHEMA_AGENT_SEARCH_SEARCH_H

#include "schema/agent/agent_file.h"

/*
 * Full-text search over the transcripts of an agent. Appending costs nothing: a
 * search first brings the index up to date, in short transactions. The index
 * contains the strings in or below the members of an event's body that
 * search.def names, and the names, texts, inputs and outputs of its parts; of
 * one event the first 4 MiB. A growing part is found by the text that it has so
 * far.
 *
 * A query consists of words that must all occur, in upper or lower case. "Words
 * in quotes" must be adjacent; word* is a prefix. No other character has a
 * special meaning, so any input is valid. With SEARCH_ADVANCED the query is an
 * FTS5 expression; an invalid one is ERR_USAGE with the reason.
 */
enum search_flags {
	SEARCH_ADVANCED = 1 << 0,
	SEARCH_HIDDEN = 1 << 1,   /* also events that were rewound or are on no
				 * current branch */
	SEARCH_ARCHIVED = 1 << 2, /* also archived sessions */
	SEARCH_NEWEST = 1 << 3,   /* newest first, not best first */
	SEARCH_AS_IS = 1 << 4,    /* do not update the index: writes nothing */
};

/* Called after each batch with the number of events or files examined. */
struct index_watch {
	void (*at)(void *arg, int64_t done);
	void *arg;
};

struct search {
	const char *query;
	unsigned flags;
	const char *session; /* key or sid; NULL: all. A fork includes the
			      * history of its base. Archived sessions are
			      * included. */
	const char *type;    /* of the event; NULL: all */
	int64_t from, until; /* ms; 0: open. from <= at < until */
	int skip, count;     /* size of the page; 0: 20, at most 1000 */
	const struct index_watch *watch; /* called while the index is built; or
					  * NULL */
	const char *mark[2]; /* around each match; NULL: "[" and "]" */
};

struct search_hit {
	int64_t pos;     /* event.pos = session.id << 32 | seq */
	int64_t session; /* session.id that shows the event, and its seq
			  * there */
	int64_t seq;
	const char *sid;
	const char *key; /* NULL for a session without key */
	const char *type;
	int64_t at;
	double score; /* bm25; higher is better */
	const char *snippet;
};

/*
 * Returns the number of hits, which are in the arena. ERR_NOTFOUND for an
 * unknown session. The best hits come first: if more than SEARCH_WINDOW events
 * match, the last SEARCH_WINDOW of them are ranked first (those of the newest
 * session, and the newest of each), then older ones as far as the page needs
 * them. So a search for a common word costs no more than one for a rare word.
 */
#define SEARCH_WINDOW 4096

int search_run(struct agent_file *f, const struct search *s,
	       struct search_hit **hits, struct arena *a, struct err *e);

/* Brings the index up to date for one session (0: all), so that the next search
 * is fast; returns the number of events examined. */
int search_update(struct agent_file *f, int64_t session,
		  const struct index_watch *watch, struct err *e);

/* Does one batch of that, for a session; returns the number of events examined,
 * 0 if the index is up to date. For callers that can spread the work. */
int search_step(struct agent_file *f, int64_t session, struct err *e);

/* Deletes the index, even a damaged one, and builds it from the events. */
int search_rebuild(struct agent_file *f, struct err *e);

struct search_stats {
	int64_t indexed; /* events in the index */
	int64_t dirty;   /* recorded as changed since */
	int64_t behind;  /* events that are not indexed yet */
};

int search_stats(struct agent_file *f, struct search_stats *out, struct err *e);

#endif
