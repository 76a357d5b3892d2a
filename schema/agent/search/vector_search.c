#include "schema/agent/search/vector_search.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/visibility.h"

#include <inttypes.h>
#include <string.h>

#define K 10

SHAPE_DEFINE(embedding_hit, EMBEDDING_HIT);

int embedding_parse(const cJSON *array, const float **v, size_t *dim,
		    struct arena *a, struct err *e)
{
	int n = cJSON_GetArraySize(array), i = 0;
	const cJSON *item;
	float *out;

	if (!cJSON_IsArray(array) || n < 1 || n > VECTOR_DIM_MAX)
		return err_set(e, ERR_INVALID,
			       "a vector must be an array of 1 to %d numbers",
			       VECTOR_DIM_MAX);
	out = arena_alloc(a, (size_t)n * sizeof *out);
	cJSON_ArrayForEach(item, array)
	{
		if (!cJSON_IsNumber(item))
			return err_set(
				e, ERR_INVALID,
				"element %d of the vector is not a number",
				i + 1);
		out[i++] = (float)item->valuedouble;
	}
	*v = out;
	*dim = (size_t)n;
	return 0;
}

/* --- where ------------------------------------------------------------ */

/* The row of an event number: in a fork, the first events are those of its
 * base. */
static int resolve_pos(struct agent_file *f, const char *session, int64_t seq,
		       int64_t *pos, struct err *e)
{
	struct session_row row;
	struct history h;
	struct arena a = {0};
	int rc = session_need(f, session, &row, &a, e);

	if (rc == 0)
		rc = history_load(f, row.id, HISTORY_LOG, &h, &a, e);
	if (rc == 0) {
		rc = err_set(e, ERR_NOTFOUND,
			     "session %s has no event %" PRId64,
			     quoted(session).text, seq);
		for (int i = 0; i < h.count && rc; i++) {
			const struct segment *s = &h.segments[i];

			if (seq < s->first || seq > s->last)
				continue;
			*pos = event_pos(s->session, seq);
			rc = 0;
		}
	}
	arena_fini(&a);
	return rc;
}

static int put_embedding(struct agent_file *f, const struct embedding_put *p,
			 struct err *e)
{
	int64_t pos = 0;
	int n;

	if (resolve_pos(f, p->session, p->seq, &pos, e))
		return -1;
	if (p->v)
		return vector_put(f->db, pos, p->model, p->v, p->dim, e);
	n = vector_delete(f->db, pos, p->model, e);
	if (n == 0)
		return err_set(e, ERR_NOTFOUND,
			       "event %" PRId64 " of %s has no vector of "
			       "model '%s'",
			       p->seq, quoted(p->session).text,
			       quoted(p->model).text);
	return n < 0 ? -1 : 0;
}

int embedding_put(struct agent_file *f, const struct embedding_put *p,
		  struct err *e)
{
	if (sql_enter(f->db, e))
		return -1;
	return sql_leave(f->db, put_embedding(f, p, e), e);
}

/* --- what is near ----------------------------------------------------- */

static int fill_hits(struct agent_file *f, const struct vector_hit *from, int n,
		     struct embedding_hit *to, struct arena *a, struct err *e)
{
	for (int i = 0; i < n; i++) {
		struct embedding_event_in in = {from[i].pos, from[i].session};
		struct embedding_event_row row;
		int found = sql_get(f->db, Q_EMBEDDING_EVENT, &in, &row, a, e);

		if (found <= 0)
			return found < 0 ? -1
					 : err_set(e, ERR_CORRUPT,
						   "%s: an embedding refers to "
						   "a missing event",
						   sql_path(f->db));
		to[i] = (struct embedding_hit){
			.session = row.key,
			.seq = event_seq(from[i].pos),
			.score = from[i].score,
			.type = row.unknown_type ? row.unknown_type
						 : event_type_name(row.type),
			.at = row.at,
			.sid = row.sid,
			.body = row.body,
		};
	}
	return 0;
}

static int query_hits(struct agent_file *f, const struct vector_query *q,
		      struct embedding_hit **hits, struct arena *a,
		      struct err *e)
{
	struct vector_hit *found;
	int n = vector_search(f->db, q, &found, a, e);

	if (n <= 0)
		return n;
	*hits = arena_alloc(a, (size_t)n * sizeof **hits);
	return fill_hits(f, found, n, *hits, a, e) ? -1 : n;
}

static int check_model(struct agent_file *f, const char *model, struct err *e)
{
	struct embedding_model_get_row row;
	int found;

	if (!model)
		return err_set(e, ERR_INVALID,
			       "the model of the vector is missing");
	found = sql_get(f->db, Q_EMBEDDING_MODEL_GET,
			&(struct embedding_model_get_in){model}, &row, NULL, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there are no vectors of model '%s'",
			       quoted(model).text);
	return found < 0 ? -1 : 0;
}

static int prepare_query(struct agent_file *f, const struct embedding_query *n,
			 struct vector_query *q, struct arena *a, struct err *e)
{
	struct session_row row;

	if (n->metric && strcmp(n->metric, "dot") != 0 &&
	    strcmp(n->metric, "cosine") != 0)
		return err_set(e, ERR_INVALID,
			       "the metric must be cosine or dot, not '%s'",
			       quoted(n->metric).text);
	if (n->metric && strcmp(n->metric, "dot") == 0)
		q->metric = VECTOR_DOT;
	if (n->session) {
		if (session_need(f, n->session, &row, a, e))
			return -1;
		q->shown->only = row.id;
	}
	return check_model(f, n->model, e);
}

int embedding_search(struct agent_file *f, const struct embedding_query *n,
		     struct embedding_hit **hits, struct arena *a,
		     struct err *e)
{
	struct visible shown = {.file = f,
				.view = n->hidden ? HISTORY_LOG : HISTORY_PATH};
	struct vector_query q = {.model = n->model,
				 .v = n->v,
				 .dim = n->dim,
				 .shown = &shown,
				 .k = n->k ? n->k : K};
	int rc;

	*hits = NULL;
	if (sql_enter_read(f->db, e))
		return -1;
	rc = prepare_query(f, n, &q, a, e);
	if (rc == 0)
		rc = query_hits(f, &q, hits, a, e);
	visible_fini(&shown);
	return sql_leave(f->db, rc, e);
}
