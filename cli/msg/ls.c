#include "cli/channel/channel_cli.h"
#include "cli/page.h"
#include "schema/control/cursor.h"

static int msg_ls(struct cli *cli, struct err *e)
{
	struct page page = page_begin(cli, 100);
	struct message_filter in = {
		.count = page.limit,
	};
	struct message_row row;
	struct sql_rows it;
	struct talker to;
	struct table *t;

	if (talker_arg(cli, 0, &to, e) ||
	    page_before(ID_MESSAGE, cli_option(cli, "before"), &in.before, e))
		return -1;
	in.agent = to.agent;
	in.session = to.session;
	it = sql_rows(cli->control,
		      in.session ? Q_MESSAGE_LIST_SESSION : Q_MESSAGE_LIST,
		      &in);
	t = table_new(&cli->out, &message_row_shape,
		      "id sender room session body created_at read_at");
	while (sql_next(&it, &row)) {
		table_add(t, &row);
		page_row(&page, "%s", row.id);
	}
	table_end(t);
	page_end(cli, &page);
	return sql_end(&it, e);
}

const struct command cmd_msg_ls = {
	.name = "msg ls",
	.args = "AGENT [SESSION]",
	.help = "list messages to the sessions of an agent",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"before", "MESSAGE", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = msg_ls,
};
