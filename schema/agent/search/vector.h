#ifndef SCHEMA_AGENT_SEARCH_VECTOR_H
#define SCHEMA_AGENT_SEARCH_VECTOR_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"

struct visible;

/*
 * Embeddings of events: float32 vectors by event and model. A search compares
 * all of them exactly; its memory holds the k best. The file needs no SQLite
 * extension. All vectors of a model have the length of its first one.
 */
#define VECTOR_DIM_MAX 16384
#define VECTOR_K_MAX   1000

/* Replaces the vector of the event for this model. Values must be finite. */
int vector_put(struct sql *db, int64_t pos, const char *model, const float *v,
	       size_t dim, struct err *e);
/* Returns the number of deleted rows. */
int vector_delete(struct sql *db, int64_t pos, const char *model,
		  struct err *e);

enum vector_metric { VECTOR_COSINE, VECTOR_DOT };

struct vector_query {
	const char *model;
	const float *v;
	size_t dim;
	enum vector_metric metric;
	int64_t session;       /* session.id; 0: all */
	struct visible *shown; /* only events that this session shows; NULL:
			        * all */
	int k;
};

struct vector_hit {
	int64_t pos;
	double score;    /* higher is nearer */
	int64_t session; /* session.id that shows the event, else its own */
};

/* Returns the number of hits, at most k, nearest first, ties by pos. The array
 * is in the arena. An unknown model has no hits. */
int vector_search(struct sql *db, const struct vector_query *q,
		  struct vector_hit **hits, struct arena *a, struct err *e);

#endif
