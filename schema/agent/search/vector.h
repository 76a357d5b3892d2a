#ifndef SCHEMA_AGENT_SEARCH_VECTOR_H
#define SCHEMA_AGENT_SEARCH_VECTOR_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"

struct visible;

/*
 * Embeddings of events: float32 vectors by event and model, compared exactly
 * and one by one; memory is the k best. No extension is needed to open the
 * file. All vectors of a model have the length of its first.
 */
#define VECTOR_DIM_MAX 16384
#define VECTOR_K_MAX   1000

/* Replaces what the event has of this model. Values must be finite. */
int vector_put(struct sql *db, int64_t pos, const char *model, const float *v,
	       size_t dim, struct err *e);
/* Rows removed. */
int vector_delete(struct sql *db, int64_t pos, const char *model,
		  struct err *e);

enum vector_metric { VECTOR_COSINE, VECTOR_DOT };

struct vector_query {
	const char *model;
	const float *v;
	size_t dim;
	enum vector_metric metric;
	int64_t session;       /* session.id; 0: all */
	struct visible *shown; /* only what it shows; NULL: everything */
	int k;
};

struct vector_hit {
	int64_t pos;
	double score;    /* more is nearer */
	int64_t session; /* session.id that shows it, else the event's own */
};

/* The k nearest, nearest first, ties by pos; how many. The array is in the
 * arena. A model that is not there has no hits. */
int vector_search(struct sql *db, const struct vector_query *q,
		  struct vector_hit **hits, struct arena *a, struct err *e);

#endif
