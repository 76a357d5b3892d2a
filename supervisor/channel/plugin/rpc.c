/* Lines of a plugin: requests are dispatched, answers become outcomes. */
#include "supervisor/channel/plugin/plugin.h"

#include "lib/json/rpc_line.h"

#include <stdio.h>
#include <string.h>

#define BAD_LINES_MAX 100
#define RETRY_MAX_MS  86400000

static struct inflight *find_inflight(struct plugin *p, int64_t number)
{
	for (struct inflight **at = &p->waiting; *at; at = &(*at)->next) {
		struct inflight *delivery = *at;

		if ((intptr_t)delivery->own != number)
			continue;
		*at = delivery->next;
		return delivery;
	}
	return NULL;
}

/* The requested delay, limited to a day. */
static int64_t retry_after(const cJSON *data)
{
	int64_t ms = json_i64(data, "retry_after_ms", -1);

	return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

static struct outcome outcome_of_answer(const struct rpc_line *r, bool is_query)
{
	const cJSON *data = cJSON_GetObjectItem(r->error, "data");
	const char *answer = json_text(r->result, "delivery", "unknown"), *ref;
	struct outcome o;

	if (r->error && !is_query)
		return outcome_of(
			json_bool(data, "permanent", false) ? DELIVERY_EV_REFUSE
							    : DELIVERY_EV_FAIL,
			json_i64(r->error, "code", 0), retry_after(data), "%s",
			json_text(r->error, "message", ""));
	if (is_query)
		return outcome_of(
			!strcmp(answer, "delivered") ? DELIVERY_EV_ACK
			: !strcmp(answer, "missing") ? DELIVERY_EV_FAIL
						     : DELIVERY_EV_LOSE,
			OPT_NONE, -1, "answer of the plugin: %.20s", answer);
	o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1, "%s", "");
	ref = json_text(r->result, "id", "");
	if (strlen(ref) < sizeof o.ref) /* a truncated id is useless */
		memcpy(o.ref, ref, strlen(ref) + 1);
	return o;
}

static void on_configured(struct plugin *p, const struct rpc_line *r)
{
	if (r->error) {
		plugin_fail(p, "it refuses its configuration: %s",
			    json_text(r->error, "message", ""));
		return;
	}
	restart_running(&p->restart, plugin_now(p));
	plugin_set_state(p, PLUGIN_READY);
	channel_clear_error(p->channel); /* the log contains it */
	p->channel->may_be_due = p->channel->resolve = true;
	p->channel->resolved_to = 0;
}

static void on_answer(struct plugin *p, const struct rpc_line *r)
{
	struct inflight *delivery;
	struct outcome o;

	if (r->number == PLUGIN_PING_ID)
		return;
	if (p->state == PLUGIN_CONFIGURING && r->number == p->next_id) {
		on_configured(p, r);
		return;
	}
	delivery = find_inflight(p, r->number);
	if (!delivery)
		return; /* it timed out meanwhile */
	o = outcome_of_answer(r, delivery->asking);
	inflight_done(delivery, &o);
}

static void on_bad_line(struct plugin *p, const char *why)
{
	if (p->bad_lines++ == 0)
		channel_set_error(p->channel, why);
	if (p->bad_lines > BAD_LINES_MAX)
		plugin_fail(p, "it talks nonsense: %s", why);
}

void plugin_on_line(struct plugin *p, const char *line, size_t n)
{
	struct rpc_line r;
	struct err e;

	if (n == 0)
		return;
	if (rpc_line_read(&r, line, n, &e)) {
		on_bad_line(p, e.text);
		return;
	}
	if (r.method)
		plugin_request(p, &r);
	else
		on_answer(p, &r);
	rpc_line_fini(&r);
}
