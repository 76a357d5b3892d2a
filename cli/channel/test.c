#include "cli/channel/channel_cli.h"

#include "lib/base/clock.h"
#include "schema/control/channel/delivery.h"

#include <poll.h>
#include <string.h>

#define POLL_MS 50

static int send_test(struct cli *cli, struct id *id, struct err *e)
{
	const char *text = cli_option(cli, "text");
	struct buf b = BUF_MAX(65536);
	cJSON *made;

	json_begin_object(&b);
	json_put_text(&b, "channel", cli_arg(cli, 0));
	json_put_text(&b, "conversation", cli_option(cli, "to"));
	json_put_object(&b, "body");
	json_put_text(&b, "text", text ? text : "a test message from skep");
	json_end_object(&b);
	json_end_object(&b);
	made = remote_call(cli, "POST", "/v1/deliveries", b.p, e);
	snprintf(id->text, sizeof id->text, "%s", json_text(made, "id", ""));
	cJSON_Delete(made);
	buf_fini(&b);
	return made ? 0 : -1;
}

/* Waits until the delivery has ended or is unknown, or the time is up. */
static int wait_for_delivery(struct cli *cli, const char *id,
			     struct delivery_row *row, struct err *e)
{
	int64_t left = cli_number(cli, "timeout", 10000);
	int found;

	do {
		found = sql_get(cli->control, Q_DELIVERY_GET,
				&(struct delivery_get_in){id}, row, &cli->arena,
				e);
		if (found != 1 ||
		    !delivery_state_is_queued(
			    (enum delivery_state)delivery_state_from(
				    row->state)))
			break;
		poll(NULL, 0, POLL_MS);
		left -= POLL_MS;
	} while (left > 0);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "delivery %s was deleted", id);
	return found < 0 ? -1 : 0;
}

/* If there was no attempt yet, the state of the channel explains why. */
static const char *why(struct cli *cli, const struct delivery_row *row)
{
	struct channel_row c;
	char until[CLOCK_TEXT];
	struct err e;

	if (row->detail)
		return row->detail;
	if (channels_get(cli->control, row->channel, &c, &cli->arena, &e))
		return e.text[0] ? arena_text(&cli->arena, e.text) : "";
	if (c.is_paused)
		return "the channel is paused";
	if (c.held_until != OPT_NONE && c.held_until > clock_now())
		return arena_printf(&cli->arena,
				    "its receiver asked to wait until %s "
				    "(Retry-After); 'skep channel resume %s' "
				    "overrides this",
				    clock_text(c.held_until, until), c.name);
	if (!strcmp(c.kind, "pull"))
		return "no client has read it yet";
	if (!strcmp(c.kind, "webhook") && !strstr(c.config, "\"url\""))
		return arena_printf(
			&cli->arena,
			"the channel has no url; set one with 'skep "
			"channel set %s --set url=...'",
			c.name);
	if (!c.state || !strcmp(c.state, "ready"))
		return "no answer yet";
	return arena_printf(&cli->arena, "the channel is %s%s%s", c.state,
			    c.last_error ? ": " : "",
			    c.last_error ? c.last_error : "");
}

static int channel_test(struct cli *cli, struct err *e)
{
	struct delivery_row row;
	struct id id;
	bool waits;

	if (send_test(cli, &id, e) || wait_for_delivery(cli, id.text, &row, e))
		return -1;
	if (cli->out.json)
		output_object(&cli->out, &delivery_row_shape, &row);
	if (!strcmp(row.state, "delivered")) {
		output_note(&cli->out,
			    "channel %s delivered the test message %s",
			    row.channel, row.id);
		return 0;
	}
	waits = !strcmp(row.state, "pending");
	return err_set(e, ERR_FAILED,
		       "the test message on channel '%s' is %s: %s; %s %s",
		       row.channel, row.state, why(cli, &row),
		       waits ? "it stays queued unless you run 'skep delivery "
			       "discard'"
			     : "see 'skep delivery show'",
		       row.id);
}

const struct command cmd_channel_test = {
	.name = "channel test",
	.args = "CHANNEL",
	.help = "send a test message on a channel and wait for its "
		"delivery",
	.needs = NEEDS_SUPERVISOR | NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPTION(TEXT, 0, "to", "PEER",
		       "conversation or address of the receiver"),
		OPTION(TEXT, 0, "text", "TEXT", "text of the message"),
		OPTION(MILLIS, 't', "timeout", "TIME",
		       "stop waiting after this time (default 10s)")),
	.run = channel_test,
};
