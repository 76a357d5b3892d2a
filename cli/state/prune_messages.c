#include "cli/state/prune_messages.h"

#include "cli/remote.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "ops/maintain/batch.h"
#include "schema/control/control.h"

#include <inttypes.h>
#include <stdio.h>

/* Inbound messages are kept at least as long as skepd keeps them: their rows
 * identify repeated messages. */
void prune_messages_begin(struct cli *cli, struct message_retention *r,
			  int64_t before)
{
	int64_t keep = cli->config.channel_keep_inbound;
	int64_t edge = clock_now() - keep;
	struct retention_options options = {
		.deliveries_before = before,
		.inbound_before = !keep           ? 0
				  : edge < before ? edge
						  : before,
		.dead_before = cli_flag(cli, "dead") ? before : 0,
	};

	message_retention_begin(r, &options);
}

static int some_copied(struct sql *db, int64_t count, void *arg, struct err *e)
{
	return message_retention_step(arg, db, count, e);
}

int prune_messages_copied(struct message_retention *r, struct sql *copy,
			  struct err *e)
{
	struct batch s = BATCH_BEGIN;

	return batch_all(&s, copy, some_copied, r, e) < 0 ? -1 : 0;
}

/* No supervisor may start meanwhile; the nested transaction checks that. */
static int some_alone(struct sql *db, int64_t count, void *arg, struct err *e)
{
	if (control_enter_alone(db, e))
		return -1;
	return sql_leave(db, message_retention_step(arg, db, count, e), e);
}

static int ask_batches(struct cli *cli, struct message_retention *r,
		       struct err *e)
{
	struct buf body = BUF_MAX(4096);
	int looked = 1;

	json_add_shape(&body, &retention_options_shape, &r->options);
	while (looked > 0) {
		cJSON *answer = remote_call(cli, "POST", "/v1/messages/prune",
					    body.p, e);

		if (!answer)
			looked = -1;
		else if (sscanf(json_text(answer, "note", ""),
				"%d %" SCNd64 " %" SCNd64 " %" SCNd64
				" %" SCNd64,
				&looked, &r->sum.deliveries, &r->sum.inbound,
				&r->sum.messages, &r->sum.attachments) != 5)
			looked = err_set(
				e, ERR_PROTOCOL,
				"skepd did not report the number of deleted "
				"messages");
		cJSON_Delete(answer);
	}
	buf_fini(&body);
	return looked;
}

int prune_messages(struct cli *cli, struct message_retention *r, struct err *e)
{
	struct batch s = BATCH_BEGIN;

	if (cli->supervised)
		return ask_batches(cli, r, e);
	return batch_all(&s, cli->control, some_alone, r, e) < 0 ? -1 : 0;
}
