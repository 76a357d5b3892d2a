#include "cli/page.h"
#include "schema/control/cursor.h"
#include "schema/control/lists.h"

static int approvals_ls(struct cli *cli, struct err *e)
{
	struct page page = page_begin(cli, 100);
	struct approval_filter in = {
		.state = cli_flag(cli, "all") ? NULL : "open",
		.run = cli_option(cli, "run"),
		.count = page.limit,
	};
	struct lists it;
	struct table *t;
	struct approval_row row;

	if (page_before(ID_APPROVAL, cli_option(cli, "before"), &in.before,
			e) ||
	    lists_open(&it, cli->control, LISTS_APPROVALS, &in, e))
		return -1;
	t = table_new(&cli->out, &approval_row_shape,
		      "id state run agent title asked_at");
	while (lists_next(&it, &row)) {
		table_add(t, &row);
		page_row(&page, "%s", row.id);
	}
	table_end(t);
	page_end(cli, &page);
	return lists_close(&it, e);
}

const struct command cmd_approvals_ls = {
	.name = "approvals ls",
	.help = "list questions that wait for an answer",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"all", NULL, "answered ones too", OPTION_FLAG},
			{"run", "ID", "only those of this run", OPTION_TEXT},
			{"before", "QUESTION", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = approvals_ls,
};
