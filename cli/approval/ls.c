#include "cli/list.h"

#include "schema/control/cursor.h"

static int approval_ls(struct cli *cli, struct err *e)
{
	bool all = cli_flag(cli, "all");
	struct approval_filter in = {
		.state = all ? NULL : "open",
		.run = cli_option(cli, "run"),
		.count = cli_number(cli, "limit", 100),
	};
	struct cli_list l = {
		.cli = cli,
		.shape = &approval_row_shape,
		.columns = "id state run agent title asked_at",
		.none = all ? "no approvals"
			    : "no open approvals; --all lists answered ones",
		.limit = in.count,
	};

	if (page_before(ID_APPROVAL, cli_option(cli, "before"), &in.before, e))
		return -1;
	return cli_list_control(&l, LISTS_APPROVALS, &in, e);
}

const struct command cmd_approval_ls = {
	.name = "approval ls",
	.help = "list open approvals",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(OPT_ALL("list answered approvals too"),
			   OPTION(TEXT, 0, "run", "RUN",
				  "list only approvals of this run"),
			   OPTION(TEXT, 0, "before", "APPROVAL",
				  "list only approvals older than this one"),
			   OPT_LIMIT("list at most N approvals (default 100)"),
			   OPT_LIST),
	.run = approval_ls,
};
