/* Budgets. */
#include "supervisor/core/budget.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

static void add_item(void *arg, const struct budget_item *item)
{
	list_item(arg, &budget_item_shape, item);
}

static int read_budgets(struct api_request *q, struct buf *out, struct err *e)
{
	int rc;

	list_begin(out);
	rc = budget_items(supervisor_db(q->api->sup), NULL, clock_now(),
			  add_item, out, e);
	list_end(out, NULL);
	return rc;
}

void route_budgets(struct api_request *q)
{
	request_read(q, read_budgets);
}

void route_budget_put(struct api_request *q, const struct budget_body *body)
{
	struct budget_row row = {
		.name = request_param(q, "name"),
		.per = body->per,
		.unit = body->unit,
		.period = body->period,
		.soft = body->soft < 0 ? OPT_NONE : body->soft,
		.hard = body->hard,
		.at_hard = body->at_hard,
		.agent = body->agent,
		.session = body->session,
		.channel = body->channel,
	};
	struct err e = {0};

	request_command(q,
			supervisor_budget_put(q->api->sup, &row, q->by,
					      request_done(q), &e),
			&e);
}

void route_budget_delete(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_budget_delete(q->api->sup,
						 request_param(q, "name"),
						 q->by, request_done(q), &e),
			&e);
}
