#include "supervisor/channel/delivery_events.h"

#include "lib/json/json.h"

#define BODY_MAX (1u << 20)

int delivery_event_new(struct supervisor *s, const struct delivery_new *d,
		       const char *id, int64_t now, struct err *e)
{
	struct arena a = {0};
	struct host_event_delivery_in event = {
		.at = now,
		.id = id,
		.agent = d->agent,
		.channel = d->channel,
		.state = delivery_state_name(DELIVERY_PENDING),
		.remote_status = OPT_NONE,
		.detail = d->resend_of ? arena_printf(&a, "sent again as %s",
						      d->resend_of)
				       : "queued",
	};
	int n = sql_exec(s->db, Q_HOST_EVENT_DELIVERY, &event, e);

	arena_fini(&a);
	s->host_changed = true;
	return n < 0 ? -1 : 0;
}

int delivery_event_claimed(struct channel *c,
			   const struct claimed_delivery *rows, int n,
			   int64_t now, struct err *e)
{
	struct buf body = BUF_MAX(BODY_MAX);
	struct host_event_add_in event = {
		.at = now, .kind = "deliveries", .subject = c->name};
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "state", delivery_state_name(DELIVERY_SENDING));
	json_put_array(&body, "ids");
	for (int i = 0; i < n; i++)
		json_add_text(&body, rows[i].row.id);
	json_end_array(&body);
	json_end_object(&body);
	event.body = body.p;
	rc = buf_ok(&body, "the claims", e);
	if (rc == 0)
		rc = sql_exec(c->sup->db, Q_HOST_EVENT_ADD, &event, e) < 0 ? -1
									   : 0;
	c->sup->host_changed = true;
	buf_fini(&body);
	return rc;
}
