#include "base/text.h"
#include "cli/cli.h"
#include "schema/channels.h"

/* Those that are less lively than this one is now. */
static int begin_after(struct cli *cli, struct conversation_list_in *in,
		       struct err *e)
{
	const char *id = cli_option(cli, "before");
	struct conversation_row row;
	int found = id ? sql_get(cli->control, Q_CONVERSATION_GET,
				 &(struct conversation_get_in){id}, &row,
				 &cli->arena, e)
		       : 0;

	if (id && found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no conversation %s",
			       quoted(id).text);
	if (found == 1) {
		in->before = row.last_message_at;
		in->before_id = row.id;
	}
	return found < 0 ? -1 : 0;
}

static int list(struct cli *cli, struct err *e)
{
	struct conversation_list_in in = {
		.channel = cli_arg(cli, 0),
		.before = INT64_MAX,
		.before_id = "~",
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it;
	struct conversation_row row;
	struct table *t;

	if (begin_after(cli, &in, e))
		return -1;
	it = sql_rows(cli->control, Q_CONVERSATION_LIST, &in);
	t = table_new(&cli->out, &conversation_row_shape,
		      "id channel peer thread kind agent session messages "
		      "last_message_at");
	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

static int channel_talks(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct channel_row row;

	if (name && channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	return list(cli, e);
}

const struct command cmd_channel_talks = {
	.name = "channel talks",
	.args = "[NAME]",
	.help = "list conversations, the liveliest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"before", "CONVERSATION",
			 "only those that come after this one", OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_talks,
};
