/* Embeddings of events, and what is near. */
#include "supervisor/api/body.h"
#include "supervisor/api/write_async.h"

#include <string.h>

static int parse_vector(const char *json, const float **v, size_t *dim,
			struct arena *a, struct err *e)
{
	cJSON *array;
	int rc;

	if (!json)
		return err_set(e, ERR_INVALID, "\"vector\" is missing");
	array = json_parse("vector", json, strlen(json), e);
	rc = array ? near_parse(array, v, dim, a, e) : -1;
	cJSON_Delete(array);
	return rc;
}

static int store_vector(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct near_put p = {.session = ed->q->key,
			     .seq = ed->vector.seq,
			     .model = ed->vector.model};

	if (parse_vector(ed->vector.vector, &p.v, &p.dim, &ed->q->arena, e) ||
	    near_put(f, &p, e))
		return -1;
	ed->vector.vector = NULL; /* who sent it knows it */
	json_add_shape(&ed->out, &api_vector_shape, &ed->vector);
	return 0;
}

void route_vector_put(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct edit *ed = edit_session(app, r, reply);
	struct err e = {0};
	int rc = api_body(r, &api_vector_shape, &ed->vector, &ed->q->arena, &e);

	edit_go(ed, rc, &e, store_vector);
}

static int search_vectors(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct near ask = {.model = ed->near.model,
			   .metric = ed->near.metric,
			   .session = ed->near.session,
			   .hidden = ed->near.hidden,
			   .k = (int)ed->near.limit};
	struct near_hit *hits;
	int n = -1;

	if (parse_vector(ed->near.vector, &ask.v, &ask.dim, &ed->q->arena, e) ==
	    0)
		n = near_search(f, &ask, &hits, &ed->q->arena, e);
	list_begin(&ed->out);
	for (int i = 0; i < n; i++)
		list_item(&ed->out, &near_hit_shape, &hits[i]);
	list_end(&ed->out, NULL);
	return n < 0 ? -1 : 0;
}

void route_vector_search(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct edit *ed = edit_new(app, r, reply);
	struct err e = {0};
	int rc = api_body(r, &api_near_shape, &ed->near, &ed->q->arena, &e);

	ed->reads_only = true;
	edit_go(ed, rc, &e, search_vectors);
}
