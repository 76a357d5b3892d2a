#include "cli/agent/agent_edit.h"
#include "cli/channel/channel_cli.h"
#include "cli/run/attachment.h"

#include <string.h>

#define TEXT_MAX ((size_t)8 << 20)
#define FILE_MAX ((size_t)64 << 20)
#define BODY_MAX ((size_t)1 << 30)

/* A value that an argument sets cannot be set with --set too. */
static int check_once(const cJSON *body, const char *member, const char *word,
		      struct err *e)
{
	if (!cJSON_GetObjectItemCaseSensitive(body, member))
		return 0;
	return err_set(e, ERR_USAGE,
		       "%s and --set %s=... cannot be used together", word,
		       member);
}

static int add_message_text(struct cli *cli, cJSON *body, struct err *e)
{
	struct buf text = BUF_MAX(TEXT_MAX);
	const char *word = cli_arg(cli, 1);
	int rc = 0;

	if (!word)
		return 0;
	if (check_once(body, "text", "TEXT", e))
		return -1;
	if (!strcmp(word, "-"))
		rc = cli_read("-", &text, e);
	else
		buf_adds(&text, word);
	if (rc == 0)
		rc = buf_ok(&text, "the message", e) ||
				     check_message_text(&text, e)
			     ? -1
			     : 0;
	if (rc == 0)
		cJSON_AddStringToObject(body, "text", text.p);
	buf_fini(&text);
	return rc;
}

static int add_attachment(cJSON *list, const char *path, struct err *e)
{
	struct buf text = BUF_MAX(FILE_MAX * 2);
	int rc = attachment_add(path, &text, e);
	cJSON *item = rc ? NULL : json_parse("attachment", text.p, text.n, e);

	if (item)
		cJSON_AddItemToArray(list, item);
	buf_fini(&text);
	return item ? 0 : -1;
}

static int fill_send_request(struct cli *cli, cJSON *request, struct err *e)
{
	cJSON *body = cJSON_AddObjectToObject(request, "body"), *list;
	const char *word;

	cJSON_AddStringToObject(request, "channel", cli_arg(cli, 0));
	if ((word = cli_option(cli, "to")))
		cJSON_AddStringToObject(request, "conversation", word);
	if ((word = cli_option(cli, "key")))
		cJSON_AddStringToObject(request, "key", word);
	for (int i = 0; (word = cli_many(cli, "set", i)); i++)
		if (cli_set_member(body, word, e))
			return -1;
	if (add_message_text(cli, body, e))
		return -1;
	if (!cli_many(cli, "attach", 0))
		return body->child
			       ? 0
			       : err_set(e, ERR_USAGE,
					 "the message is empty; give TEXT, '-' "
					 "for "
					 "standard input, or --attach FILE");
	if (check_once(body, "attachments", "--attach", e))
		return -1;
	list = cJSON_AddArrayToObject(body, "attachments");
	for (int i = 0; (word = cli_many(cli, "attach", i)); i++)
		if (add_attachment(list, word, e))
			return -1;
	return 0;
}

static int post_delivery(struct cli *cli, const char *body, struct err *e)
{
	cJSON *made = remote_call(cli, "POST", "/v1/deliveries", body, e);

	if (!made)
		return -1;
	remote_result(cli, made,
		      json_bool(made, "changed", true)
			      ? "queued delivery %s on channel %s"
			      : "delivery %s on channel %s already has this "
				"key",
		      json_text(made, "id", "?"), cli_arg(cli, 0));
	cJSON_Delete(made);
	return 0;
}

static int delivery_send(struct cli *cli, struct err *e)
{
	struct buf b = BUF_MAX(BODY_MAX);
	cJSON *request = cJSON_CreateObject();
	int rc = fill_send_request(cli, request, e);

	if (rc == 0)
		json_add(&b, request);
	if (rc == 0)
		rc = buf_ok(&b, "the message", e);
	if (rc == 0)
		rc = post_delivery(cli, b.p, e);
	cJSON_Delete(request);
	buf_fini(&b);
	return rc;
}

const struct command cmd_delivery_send = {
	.name = "delivery send",
	.args = "CHANNEL [TEXT]",
	.help = "send a message on a channel",
	.about = "The message is stored durably when the command "
		 "returns; 'skep delivery show' reports its progress. "
		 "'skep channel test' sends a message and waits for "
		 "its delivery.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"TEXT", "text of the message; '-' reads standard input"}),
	.options = OPTIONS(
		OPTION(TEXT, 0, "to", "PEER",
		       "conversation or address of the receiver"),
		OPTION(TEXT, 'k', "key", "KEY",
		       "idempotency key; a message with a known key is not "
		       "sent again"),
		OPTION(MANY, 0, "attach", "FILE",
		       "attach a file; may be repeated"),
		OPTION(MANY, 0, "set", "KEY=VALUE",
		       "set another member of the message, such as "
		       "subject=...; may be repeated")),
	.run = delivery_send,
};
