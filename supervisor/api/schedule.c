/* Schedules: work that starts at points in time. */
#include "schema/control/schedule.h"
#include "lib/base/clock.h"
#include "lib/time/time_text.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/core/schedules.h"

#include <stdlib.h>
#include <string.h>

static int read_schedules(struct api_request *q, struct buf *out, struct err *e)
{
	struct schedule_list_in in = {q->from ? q->from : "", q->limit};

	return api_page(q, Q_SCHEDULE_LIST, &in, "name", out, e);
}

void route_schedules(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->from = request_query(q, "after");
	request_read(q, read_schedules);
}

static int read_schedule(struct api_request *q, struct buf *out, struct err *e)
{
	struct schedule_row row;

	if (schedule_get(supervisor_db(q->api->sup), q->key, &row, &q->arena,
			 e))
		return -1;
	json_add_shape(out, &schedule_row_shape, &row);
	return 0;
}

void route_schedule_show(struct api_request *q)
{
	q->key = request_param(q, "name");
	request_read(q, read_schedule);
}

/* Times without an offset are times of the zone. */
static int parse_times(const struct schedule_body *body,
		       struct schedule_row *row, struct err *e)
{
	struct zone *z;
	int rc = zone_open(&z, body->zone, e);

	if (rc == 0 && body->at)
		rc = time_parse("at", body->at, z, &row->at, e);
	if (rc == 0 && body->start)
		rc = time_parse("start", body->start, z, &row->starts_at, e);
	if (rc == 0 && body->end)
		rc = time_parse("end", body->end, z, &row->ends_at, e);
	zone_close(z);
	return rc;
}

void route_schedule_put(struct api_request *q, const struct schedule_body *body)
{
	struct schedule_row row = {
		.cron = body->cron,
		.every_ms = body->every_ms,
		.at = OPT_NONE,
		.zone = body->zone,
		.jitter_ms = body->jitter_ms,
		.starts_at = OPT_NONE,
		.ends_at = OPT_NONE,
		.missed = body->missed,
		.window_ms = body->window_ms,
		.overlap = body->overlap,
		.action = "run",
		.agent = body->agent,
		.prompt = body->prompt,
		.session = body->session,
		.workspace = body->workspace,
		.timeout_ms = body->timeout_ms,
		.is_paused = body->paused,
	};
	struct err e = {0};
	int rc = parse_times(body, &row, &e);

	q->key = row.name = request_param(q, "name");
	q->read = read_schedule;
	if (rc == 0)
		rc = supervisor_schedule_put(q->api->sup, &row, q->by,
					     request_done(q), &e);
	request_command(q, rc, &e);
}

void route_schedule_delete(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_schedule_delete(q->api->sup,
						   http_param(q->http, "name"),
						   q->by, request_done(q), &e),
			&e);
}

void route_schedule_verb(struct api_request *q)
{
	const char *name = http_param(q->http, "name");
	const char *verb = http_param(q->http, "verb");
	struct completion done = request_done(q);
	struct err e = {0};
	int rc;

	if (!strcmp(verb, "fire"))
		rc = supervisor_schedule_fire(q->api->sup, name, q->by, done,
					      &e);
	else
		rc = supervisor_schedule_switch(q->api->sup, name,
						!strcmp(verb, "pause"), q->by,
						done, &e);
	request_command(q, rc, &e);
}

static int read_next(struct api_request *q, struct buf *out, struct err *e)
{
	struct schedule_row row;
	struct schedule_rule rule;
	char local[TIME_TEXT];
	int64_t slot = clock_now();

	if (schedule_get(supervisor_db(q->api->sup), q->key, &row, &q->arena,
			 e))
		return -1;
	if (schedule_rule_open(&rule, &row, e))
		return -1;
	list_begin(out);
	for (int64_t i = 0; i < q->limit; i++) {
		struct api_slot item;

		slot = schedule_rule_next(&rule, slot);
		if (slot == OPT_NONE)
			break;
		item = (struct api_slot){
			.slot = slot,
			.due_at = schedule_due(&row, slot),
			.local = time_text(rule.zone, slot, local),
		};
		list_item(out, &api_slot_shape, &item);
	}
	list_end(out, NULL);
	schedule_rule_close(&rule);
	return 0;
}

void route_schedule_next(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->key = request_param(q, "name");
	request_read(q, read_next);
}

static int read_log(struct api_request *q, struct buf *out, struct err *e)
{
	struct firing_list_in in = {q->key, INT64_MAX, q->limit};
	struct schedule_row row;

	if (q->from)
		in.before = strtoll(q->from, NULL, 10);
	if (schedule_get(supervisor_db(q->api->sup), q->key, &row, &q->arena,
			 e))
		return -1;
	return api_page(q, Q_FIRING_LIST, &in, "slot", out, e);
}

void route_schedule_log(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->key = request_param(q, "name");
	q->from = request_query(q, "before");
	request_read(q, read_log);
}
