#include "cli/channel/channel_cli.h"
#include "lib/base/text.h"
#include "schema/control/channel/mailbox.h"

#include <string.h>

static int post_message(struct cli *cli, const char *body, struct err *e)
{
	cJSON *made = remote_call(cli, "POST", "/v1/messages", body, e);

	if (!made)
		return -1;
	remote_result(cli, made,
		      json_bool(made, "changed", true)
			      ? "sent message %s to %s%s"
			      : "message %s to %s%s already has this key",
		      json_text(made, "id", "?"),
		      cli_flag(cli, "room") ? "room " : "", cli_arg(cli, 0));
	cJSON_Delete(made);
	return 0;
}

static int msg_send(struct cli *cli, struct err *e)
{
	const char *to = cli_arg(cli, 0);
	struct buf text = BUF_MAX(MESSAGE_MAX + 1),
		   b = BUF_MAX(MESSAGE_MAX * 7);
	int rc = 0;

	if (!cli_flag(cli, "room") && text_check_key("the address", to, 400, e))
		return -1;
	if (!strcmp(cli_arg(cli, 1), "-"))
		rc = cli_read("-", &text, e);
	else
		buf_adds(&text, cli_arg(cli, 1));
	json_begin_object(&b);
	json_put_text(&b, cli_flag(cli, "room") ? "room" : "to", to);
	json_put_text(&b, "text", text.p);
	json_put_text(&b, "sender", cli_option(cli, "from"));
	json_put_text(&b, "key", cli_option(cli, "key"));
	json_end_object(&b);
	if (rc == 0)
		rc = buf_ok(&text, "the message", e) ||
				     check_message_text(&text, e)
			     ? -1
			     : 0;
	if (rc == 0)
		rc = post_message(cli, b.p, e);
	buf_fini(&text);
	buf_fini(&b);
	return rc;
}

const struct command cmd_msg_send = {
	.name = "msg send",
	.args = "ADDRESS TEXT",
	.help = "send a message to a session or a room",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"ADDRESS", "AGENT/SESSION; AGENT alone stands for AGENT/main. "
			    "With --room, the name of a room"},
		{"TEXT", "text of the message; '-' reads standard input"}),
	.options = OPTIONS(
		FLAG(0, "room", "send to all members of the room ADDRESS"),
		OPTION(TEXT, 0, "from", "ADDRESS", "sender of the message"),
		OPTION(TEXT, 'k', "key", "KEY",
		       "idempotency key; a message with a known key is not "
		       "sent again")),
	.run = msg_send,
};
