/* Experiments: many runs from one starting point. */
#include "lib/base/text.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/core/experiments.h"

static int read_experiments(struct api_request *q, struct buf *out,
			    struct err *e)
{
	struct experiment_list_in in = {q->from ? q->from : "~", q->limit};

	return api_page(q, Q_EXPERIMENT_LIST, &in, "id", out, e);
}

void route_experiments(struct api_request *q)
{
	if (request_limit(q) || request_before(q, ID_EXPERIMENT))
		return;
	request_read(q, read_experiments);
}

static int read_experiment(struct api_request *q, struct buf *out,
			   struct err *e)
{
	struct experiment_get_in key = {q->id};
	struct experiment_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_EXPERIMENT_GET, &key,
			    &row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no experiment %s",
			       quoted(q->id).text);
	if (found > 0)
		json_add_shape(out, &experiment_row_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_experiment_show(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_experiment);
}

static int read_trials(struct api_request *q, struct buf *out, struct err *e)
{
	struct trial_list_in in = {q->id};
	struct buf ignored = BUF_MAX(1 << 20);
	int rc = read_experiment(q, &ignored, e);

	buf_fini(&ignored);
	return rc ? -1 : api_list(q, Q_TRIAL_LIST, &in, out, e);
}

void route_experiment_trials(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_trials);
}

static int read_variants(struct api_request *q, struct buf *out, struct err *e)
{
	struct variant_list_in in = {q->id};
	struct buf ignored = BUF_MAX(1 << 20);
	int rc = read_experiment(q, &ignored, e);

	buf_fini(&ignored);
	return rc ? -1 : api_list(q, Q_VARIANT_LIST, &in, out, e);
}

void route_experiment_variants(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_variants);
}

void route_experiment_start(struct api_request *q,
			    const struct experiment_body *body)
{
	struct experiment_request req = {.agent = body->agent,
					 .from = body->from,
					 .variants = body->variants,
					 .check = body->check,
					 .runs = body->runs,
					 .seed = body->seed,
					 .keep = body->keep,
					 .by = q->by};
	struct err e = {0};

	q->read = read_experiment;
	q->status = 201;
	request_command(q,
			supervisor_experiment_start(q->api->sup, &req,
						    request_done(q), &e),
			&e);
}

void route_experiment_pick(struct api_request *q,
			   const struct experiment_pick_body *body)
{
	struct experiment_choice choice = {.id = http_param(q->http, "id"),
					   .trial = body->trial,
					   .strategy = body->strategy,
					   .ours = body->ours,
					   .theirs = body->theirs,
					   .keep = body->keep};
	struct err e = {0};

	request_command(q,
			supervisor_experiment_pick(q->api->sup, &choice, q->by,
						   request_done(q), &e),
			&e);
}

void route_experiment_drop(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_experiment_drop(q->api->sup,
						   http_param(q->http, "id"),
						   q->by, request_done(q), &e),
			&e);
}

void route_experiment_resume(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_experiment_resume(
				q->api->sup, http_param(q->http, "id"), q->by,
				request_done(q), &e),
			&e);
}

void route_experiment_extend(struct api_request *q,
			     const struct experiment_extend_body *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_experiment_extend(
				q->api->sup, http_param(q->http, "id"),
				body->runs, q->by, request_done(q), &e),
			&e);
}
