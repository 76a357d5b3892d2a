/* Embeddings of events, and vector search. */
#include "supervisor/api/write_async.h"

#include <string.h>

static int parse_vector(const char *json, const float **v, size_t *dim,
			struct arena *a, struct err *e)
{
	cJSON *array;
	int rc;

	array = json_parse("vector", json, strlen(json), e);
	rc = array ? embedding_parse(array, v, dim, a, e) : -1;
	cJSON_Delete(array);
	return rc;
}

static int store_vector(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct vector_put_body *body = ed->body;
	struct embedding_put p = {
		.session = ed->q->key, .seq = body->seq, .model = body->model};
	struct api_vector stored = {body->seq, body->model};

	if (parse_vector(body->vector, &p.v, &p.dim, &ed->q->arena, e) ||
	    embedding_put(f, &p, e))
		return -1;
	json_add_shape(&ed->out, &api_vector_shape, &stored);
	return 0;
}

void route_vector_put(struct api_request *q, const struct vector_put_body *body)
{
	struct edit *ed = edit_session(q);

	ed->body = body;
	edit_start(ed, store_vector);
}

static int search_vectors(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct vector_search_body *body = ed->body;
	struct embedding_query query = {.model = body->model,
					.metric = body->metric,
					.session = body->session,
					.hidden = body->hidden,
					.k = (int)body->limit};
	struct embedding_hit *hits;
	int n = -1;

	if (parse_vector(body->vector, &query.v, &query.dim, &ed->q->arena,
			 e) == 0)
		n = embedding_search(f, &query, &hits, &ed->q->arena, e);
	list_begin(&ed->out);
	for (int i = 0; i < n; i++)
		list_item(&ed->out, &embedding_hit_shape, &hits[i]);
	list_end(&ed->out, NULL);
	return n < 0 ? -1 : 0;
}

void route_vector_search(struct api_request *q,
			 const struct vector_search_body *body)
{
	struct edit *ed = edit_new(q);

	ed->body = body;
	ed->reads_only = true;
	edit_start(ed, search_vectors);
}
