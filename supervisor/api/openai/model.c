/* The agents, as models. */
#include "schema/control/agent.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

#define MODELS_MAX 10000

static void add_model(struct buf *out, const struct agent_row *row)
{
	json_begin_object(out);
	json_put_text(out, "id", row->name);
	json_put_text(out, "object", "model");
	json_put_int(out, "created", row->created_at / 1000);
	json_put_text(out, "owned_by", "skep");
	json_end_object(out);
}

static int read_models(struct api_request *q, struct buf *out, struct err *e)
{
	struct agent_list_in in = {"", MODELS_MAX};
	struct sql_rows it = sql_rows(q->db, Q_AGENT_LIST, &in);
	struct agent_row row;

	json_begin_object(out);
	json_put_text(out, "object", "list");
	json_put_array(out, "data");
	while (sql_next(&it, &row))
		if (row.is_enabled)
			add_model(out, &row);
	json_end_array(out);
	json_end_object(out);
	return sql_end(&it, e);
}

void route_openai_models(struct api_request *q)
{
	request_read_async(q, read_models);
}

static int read_model(struct api_request *q, struct buf *out, struct err *e)
{
	struct agent_row row;
	int found = sql_get(q->db, Q_AGENT_GET, &(struct agent_get_in){q->key},
			    &row, &q->arena, e);

	if (found == 0)
		return agents_missing(q->db, q->key, e);
	if (found > 0)
		add_model(out, &row);
	return found < 0 ? -1 : 0;
}

void route_openai_model(struct api_request *q)
{
	q->key = request_param(q, "model");
	request_read(q, read_model);
}
