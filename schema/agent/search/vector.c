#include "schema/agent/search/vector.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/visibility.h"
#include "schema/agent_queries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_MAX 256
#define LANES     16

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "vectors are stored as they are in memory");

/*
 * Sixteen separate sums: a compiler may not reorder float additions, so it uses
 * vector instructions only if the source separates the sums.
 */
static double dot(const float *a, const float *b, size_t n)
{
	float lane[LANES] = {0};
	double sum = 0;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			lane[k] += a[i + k] * b[i + k];
	for (size_t k = 0; k < LANES; k++)
		sum += (double)lane[k];
	for (; i < n; i++)
		sum += (double)a[i] * (double)b[i];
	return sum;
}

/* The largest dot product of two vectors must stay a finite float. */
static int check_vector(const float *v, size_t dim, struct err *e)
{
	if (dim < 1 || dim > VECTOR_DIM_MAX)
		return err_set(e, ERR_USAGE,
			       "the vector has %zu numbers; 1 to %d are "
			       "allowed",
			       dim, VECTOR_DIM_MAX);
	for (size_t i = 0; i < dim; i++)
		if (!isfinite(v[i]) || fabsf(v[i]) > 1e15f)
			return err_set(
				e, ERR_INVALID,
				"element %zu of the vector is not finite or "
				"too large",
				i + 1);
	return 0;
}

/* Returns 1, or 0 if the model is unknown; ERR_CONFLICT for another length. */
static int find_model(struct sql *db, const char *model, size_t dim,
		      int64_t *id, struct err *e)
{
	struct embedding_model_get_row row;
	int found = sql_get(db, Q_EMBEDDING_MODEL_GET,
			    &(struct embedding_model_get_in){model}, &row, NULL,
			    e);

	if (found <= 0)
		return found;
	if (dim != 0 && row.dim != (int64_t)dim)
		return err_set(e, ERR_CONFLICT,
			       "vectors of model '%s' have %d elements, but "
			       "this one has %zu",
			       quoted(model).text, (int)row.dim, dim);
	*id = row.id;
	return 1;
}

static int put_vector(struct sql *db, int64_t pos, const char *model,
		      const float *v, size_t dim, struct err *e)
{
	struct embedding_put_in in = {
		.pos = pos,
		.norm = sqrt(dot(v, v, dim)),
		.vector = {v, dim * sizeof *v},
	};
	int found = find_model(db, model, dim, &in.model, e);

	if (found < 0)
		return -1;
	if (!found) {
		if (sql_exec(db, Q_EMBEDDING_MODEL_ADD,
			     &(struct embedding_model_add_in){model,
							      (int64_t)dim},
			     e) < 0)
			return -1;
		in.model = sql_last_rowid(db);
	}
	return sql_exec(db, Q_EMBEDDING_PUT, &in, e) < 0 ? -1 : 0;
}

int vector_put(struct sql *db, int64_t pos, const char *model, const float *v,
	       size_t dim, struct err *e)
{
	if (text_check_key("the model's name", model, MODEL_MAX, e) ||
	    check_vector(v, dim, e) || sql_enter(db, e))
		return -1;
	return sql_leave(db, put_vector(db, pos, model, v, dim, e), e);
}

int vector_delete(struct sql *db, int64_t pos, const char *model, struct err *e)
{
	struct embedding_delete_in in = {.pos = pos};
	int found = find_model(db, model, 0, &in.model, e);

	return found <= 0 ? found : sql_exec(db, Q_EMBEDDING_DELETE, &in, e);
}

/* --- the k nearest ---------------------------------------------------- */

/* A heap with the worst of the best hits at the top. */
struct heap {
	struct vector_hit *hits;
	int n, k;
};

static bool is_worse(const struct vector_hit *a, const struct vector_hit *b)
{
	if (a->score < b->score || a->score > b->score)
		return a->score < b->score;
	return a->pos > b->pos;
}

static void sink(struct heap *h, int at)
{
	for (;;) {
		int worst = at, left = 2 * at + 1;
		struct vector_hit t;

		for (int c = left; c < left + 2 && c < h->n; c++)
			if (is_worse(&h->hits[c], &h->hits[worst]))
				worst = c;
		if (worst == at)
			return;
		t = h->hits[at];
		h->hits[at] = h->hits[worst];
		h->hits[worst] = t;
		at = worst;
	}
}

static void offer(struct heap *h, struct vector_hit hit)
{
	if (h->n < h->k) {
		h->hits[h->n++] = hit;
		if (h->n == h->k)
			for (int i = h->n / 2 - 1; i >= 0; i--)
				sink(h, i);
	} else if (is_worse(&h->hits[0], &hit)) {
		h->hits[0] = hit;
		sink(h, 0);
	}
}

static int best_first(const void *a, const void *b)
{
	return is_worse(a, b) ? 1 : -1;
}

static double score_of(const struct vector_query *q, double q_norm,
		       const float *v, double norm)
{
	double d = dot(q->v, v, q->dim);

	if (q->metric == VECTOR_DOT)
		return d;
	return norm > 0 && q_norm > 0 ? d / (norm * q_norm) : 0;
}

/* Reads the session that shows the event only if the options need it: 0 or
 * -1. */
static int consider(const struct vector_query *q, struct heap *h,
		    struct vector_hit hit, struct err *e)
{
	int shows = 1;

	if (h->n == h->k && !is_worse(&h->hits[0], &hit))
		return 0;
	hit.session = event_session(hit.pos);
	if (q->shown)
		shows = visible_who(q->shown, hit.pos, &hit.session, e);
	if (shows > 0)
		offer(h, hit);
	return shows < 0 ? -1 : 0;
}

static int scan(struct sql *db, const struct vector_query *q, int64_t model,
		struct heap *h, struct err *e)
{
	struct embedding_all_in all = {model};
	struct embedding_session_in one = {model, q->session};
	struct sql_rows it = q->session
				     ? sql_rows(db, Q_EMBEDDING_SESSION, &one)
				     : sql_rows(db, Q_EMBEDDING_ALL, &all);
	double q_norm = sqrt(dot(q->v, q->v, q->dim));
	struct embedding_row row;
	float v[VECTOR_DIM_MAX]; /* blobs of SQLite are not aligned */
	struct err why;
	bool damaged = false;
	int rc = 0;

	while (rc == 0 && !damaged && sql_next(&it, &row)) {
		struct vector_hit hit = {.pos = row.pos};

		damaged = row.vector.n != q->dim * sizeof *v;
		if (damaged)
			break;
		memcpy(v, row.vector.p, row.vector.n);
		hit.score = score_of(q, q_norm, v, row.norm);
		rc = consider(q, h, hit, &why);
	}
	if (sql_end(&it, e))
		return -1;
	if (rc) {
		*e = why;
		return -1;
	}
	if (damaged)
		return err_set(e, ERR_CORRUPT,
			       "%s: an embedding of model '%s' has the wrong "
			       "length",
			       sql_path(db), quoted(q->model).text);
	return 0;
}

int vector_search(struct sql *db, const struct vector_query *q,
		  struct vector_hit **hits, struct arena *a, struct err *e)
{
	struct heap h = {.k = q->k};
	int64_t model;
	int found;

	*hits = NULL;
	if (q->k < 1 || q->k > VECTOR_K_MAX)
		return err_set(e, ERR_USAGE,
			       "the limit %d is not between 1 and %d", q->k,
			       VECTOR_K_MAX);
	if (check_vector(q->v, q->dim, e))
		return -1;
	found = find_model(db, q->model, q->dim, &model, e);
	if (found <= 0)
		return found;
	h.hits = arena_alloc(a, (size_t)q->k * sizeof *h.hits);
	if (scan(db, q, model, &h, e))
		return -1;
	qsort(h.hits, (size_t)h.n, sizeof *h.hits, best_first);
	*hits = h.hits;
	return h.n;
}
