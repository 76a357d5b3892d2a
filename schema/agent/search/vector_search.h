#ifndef SCHEMA_AGENT_SEARCH_VECTOR_SEARCH_H
#define SCHEMA_AGENT_SEARCH_VECTOR_SEARCH_H

#include "lib/json/json.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/search/vector.h"

/*
 * Embeddings as people and programs give and ask for them: by session and
 * number, as JSON, and only what a session shows (schema/agent/search/vector.h
 * compares).
 */

/* The numbers of a JSON array, in the arena. ERR_INVALID names the first that
 * is none. */
int embedding_parse(const cJSON *array, const float **v, size_t *dim,
		    struct arena *a, struct err *e);

/* Gives event `seq` of a session (its base's, in a fork) an embedding. */
struct embedding_put {
	const char *session; /* key or sid */
	int64_t seq;
	const char *model;
	const float *v; /* NULL: takes it away */
	size_t dim;
};

int embedding_put(struct agent_file *f, const struct embedding_put *p,
		  struct err *e);

struct embedding_query {
	const char *model;
	const float *v;
	size_t dim;
	const char *metric;  /* "cosine", "dot"; NULL: cosine */
	const char *session; /* only what it shows; NULL: all */
	bool hidden;         /* also what was rewound */
	int k;               /* 0: 10 */
};

#define EMBEDDING_HIT(F, S) \
	F(S, text, session) \
	F(S, i64, seq)      \
	F(S, f64, score)    \
	F(S, text, type) F(S, time, at) F(S, text, sid) F(S, json, body)
SHAPE_DECLARE(embedding_hit, EMBEDDING_HIT);

/* Nearest first, in the arena: how many. ERR_NOTFOUND for an unknown session,
 * and for a model that nothing has an embedding of. */
int embedding_search(struct agent_file *f, const struct embedding_query *n,
		     struct embedding_hit **hits, struct arena *a,
		     struct err *e);

#endif
