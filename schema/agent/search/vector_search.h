#ifndef SCHEMA_AGENT_SEARCH_VECTOR_SEARCH_H
#define SCHEMA_AGENT_SEARCH_VECTOR_SEARCH_H

#include "lib/json/json.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/search/vector.h"

/*
 * Embeddings by session and event number, as JSON, limited to events that a
 * session shows (schema/agent/search/vector.h compares them).
 */

/* Reads a JSON array of numbers, into the arena. ERR_INVALID names the first
 * element that is not a number. */
int embedding_parse(const cJSON *array, const float **v, size_t *dim,
		    struct arena *a, struct err *e);

/* Sets the embedding of event `seq` of a session (in a fork, possibly an event
 * of its base). */
struct embedding_put {
	const char *session; /* key or sid */
	int64_t seq;
	const char *model;
	const float *v; /* NULL: deletes it */
	size_t dim;
};

int embedding_put(struct agent_file *f, const struct embedding_put *p,
		  struct err *e);

struct embedding_query {
	const char *model;
	const float *v;
	size_t dim;
	const char *metric;  /* "cosine", "dot"; NULL: cosine */
	const char *session; /* only events that it shows; NULL: all */
	bool hidden;         /* also events that were rewound */
	int k;               /* 0: 10 */
};

#define EMBEDDING_HIT(F, S) \
	F(S, text, session) \
	F(S, i64, seq)      \
	F(S, f64, score)    \
	F(S, text, type) F(S, time, at) F(S, text, sid) F(S, json, body)
SHAPE_DECLARE(embedding_hit, EMBEDDING_HIT);

/* Returns the number of hits, nearest first, in the arena. ERR_NOTFOUND for an
 * unknown session and for a model without embeddings. */
int embedding_search(struct agent_file *f, const struct embedding_query *n,
		     struct embedding_hit **hits, struct arena *a,
		     struct err *e);

#endif
