#include "cli/channel_cli.h"

static int msg_collect(struct cli *cli, struct err *e)
{
	const char *session = cli_arg(cli, 1) ? cli_arg(cli, 1) : "main";
	const char *path = arena_printf(
		&cli->arena, "/v1/messages/%s/%s/collect?limit=%lld",
		cli_arg(cli, 0), url_text(cli, session),
		(long long)cli_number(cli, "limit", 100));
	cJSON *json = remote_call(cli, "POST", path, "{}", e);
	const cJSON *item, *items = cJSON_GetObjectItem(json, "items");
	struct message_row row;
	struct table *t;

	if (!json)
		return -1;
	t = table_new(&cli->out, &message_row_shape,
		      "id sender room body created_at");
	cJSON_ArrayForEach(item, items)
	{
		remote_read(item, &message_row_shape, &row);
		table_add(t, &row);
	}
	table_end(t);
	cJSON_Delete(json);
	return 0;
}

const struct command cmd_msg_collect = {
	.name = "msg collect",
	.args = "NAME [SESSION]",
	.help = "print the unread messages of a session; they are read then",
	.needs = NEEDS_SUPERVISOR,
	.options =
		(const struct option_spec[]){
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = msg_collect,
};
