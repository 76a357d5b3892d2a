#ifndef SCHEMA_AGENT_SEARCH_SEARCH_H
#define SCHEMA_AGENT_SEARCH_SEARCH_H

#include "schema/agent/agent_file.h"

/*
 * Full-text search over the transcripts of an agent. Appending costs nothing:
 * a search first brings the index up to date, in short transactions. Indexed
 * are the strings in or below the members of an event's body that search.def
 * names, and names, texts, inputs and outputs of its parts; of one event the
 * first 4 MiB. A part that is still growing is found with what it has so far.
 *
 * A query is words that all have to be there, in any form of letters; "words in
 * quotes" stand side by side; word* is a beginning. No other character has a
 * meaning, so whatever a person types works. With SEARCH_ADVANCED the query is
 * an FTS5 expression; a wrong one is ERR_USAGE with the reason.
 */
enum search_flags {
	SEARCH_ADVANCED = 1 << 0,
	SEARCH_HIDDEN = 1 << 1, /* also what was rewound or is off the branch */
	SEARCH_ARCHIVED = 1 << 2, /* also archived sessions */
	SEARCH_NEWEST = 1 << 3,   /* newest first, not best first */
	SEARCH_AS_IS = 1 << 4,    /* leave the index as it is: writes nothing */
};

/* Is told how many events or files were looked at, after each batch. */
struct index_watch {
	void (*at)(void *arg, int64_t done);
	void *arg;
};

struct search {
	const char *query;
	unsigned flags;
	const char *session; /* key or sid; NULL: all. A fork has its base's
			      * history too. Archived or not. */
	const char *type;    /* of the event; NULL: all */
	int64_t from, until; /* ms; 0: open. from <= at < until */
	int skip, count;     /* the page; count 0: 20, at most 1000 */
	const struct index_watch *watch; /* while the index is made; or NULL */
	const char *mark[2]; /* around a found word; NULL: "[" and "]" */
};

struct search_hit {
	int64_t pos;     /* event.pos = session.id << 32 | seq */
	int64_t session; /* session.id that shows it, seq */
	int64_t seq;
	const char *sid;
	const char *key; /* NULL for a session without key */
	const char *type;
	int64_t at;
	double score; /* bm25, more is better */
	const char *snippet;
};

/*
 * Hits in the arena; how many. ERR_NOTFOUND for an unknown session. Best first:
 * when more than SEARCH_WINDOW events match, the last SEARCH_WINDOW of them are
 * ranked first (those of the newest session, and the newest of each), then older
 * ones as far as the page needs them. So a search for a common word costs no
 * more than one for a rare word.
 */
#define SEARCH_WINDOW 4096

int search_run(struct agent_file *f, const struct search *s,
	       struct search_hit **hits, struct arena *a, struct err *e);

/* Brings the index up to date for one session (0: all), so that the next
 * search is quick; how many events were looked at. */
int search_update(struct agent_file *f, int64_t session,
		  const struct index_watch *watch, struct err *e);

/* One batch of that, for a session: how many events were looked at; 0: the index
 * is up to date. For who has time to wait. */
int search_step(struct agent_file *f, int64_t session, struct err *e);

/* Drops the index and makes it anew from the events, also a damaged one. */
int search_rebuild(struct agent_file *f, struct err *e);

struct search_stats {
	int64_t indexed; /* events in the index */
	int64_t dirty;   /* noted as changed since */
	int64_t behind;  /* events that are not in it yet */
};

int search_stats(struct agent_file *f, struct search_stats *out, struct err *e);

#endif
