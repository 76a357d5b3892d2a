#include "base/id.h"
#include "cli/delivery_find.h"

/* --before ID: older than that one. */
static int begin(struct cli *cli, int64_t *seq, struct err *e)
{
	const char *before = cli_option(cli, "before");
	struct delivery_row row;

	*seq = INT64_MAX;
	if (!before)
		return 0;
	if (delivery_find(cli, before, &row, e))
		return -1;
	*seq = row.seq;
	return 0;
}

static int delivery_ls(struct cli *cli, struct err *e)
{
	struct delivery_list_in in = {
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it;
	struct table *t;
	struct delivery_row row;
	struct id last = {.text = ""};
	int64_t n = 0;

	if (begin(cli, &in.before, e))
		return -1;
	it = sql_rows(cli->control, Q_DELIVERY_LIST, &in);
	t = table_new(&cli->out, &delivery_row_shape,
		      "id channel state attempts code created_at detail");
	for (; sql_next(&it, &row); n++) {
		table_add(t, &row);
		snprintf(last.text, sizeof last.text, "%s", row.id);
	}
	table_end(t);
	if (n > 0 && n == in.count)
		output_note(&cli->out, "older ones: --before %s", last.text);
	return sql_end(&it, e);
}

const struct command cmd_delivery_ls = {
	.name = "delivery ls",
	.help = "list messages that go out, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"channel", "NAME", "only of this channel",
			 OPTION_NAME},
			{"state",
			 "pending|sending|unknown|delivered|dead|dismissed",
			 "only in this state", OPTION_WORD},
			{"conversation", "ID", "only of this conversation",
			 OPTION_TEXT},
			{"before", "DELIVERY", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = delivery_ls,
};
