#include "cli/agent/agent_edit.h"
#include "cli/list.h"

#define PAGE 200

/* Reads definitions in files first; an invalid one is reported, and the list
 * continues. */
static int take_files(struct cli *cli, struct err *e)
{
	struct buf bad = BUF_MAX(65536);
	int rc = 0;

	if (!cli->supervised)
		rc = agents_sync_all(cli->control, &cli->home, &bad, e);
	if (bad.n > 0) {
		struct output o;

		output_init(&o, stderr, false, true);
		output_text(&o, bad.p, bad.n);
	}
	buf_fini(&bad);
	return rc;
}

static int agent_ls(struct cli *cli, struct err *e)
{
	struct agent_list_in in = {.after = "", .count = PAGE};
	struct cli_list l = {
		.cli = cli,
		.shape = &agent_row_shape,
		.columns = "name driver workspace model version is_default "
			   "is_enabled source updated_at",
		.none = "no agents; 'skep agent add AGENT --driver DRIVER' "
			"defines one",
	};
	struct agent_row *rows;
	int n;

	if (take_files(cli, e))
		return -1;
	do {
		n = sql_collect(cli->control, Q_AGENT_LIST, &in, PAGE, &rows,
				&cli->arena, e);
		for (int i = 0; i < n; i++)
			cli_list_add(&l, &rows[i]);
		if (n > 0)
			in.after = rows[n - 1].name;
	} while (n == PAGE);
	if (n < 0)
		return -1;
	cli_list_end(&l);
	return 0;
}

const struct command cmd_agent_ls = {
	.name = "agent ls",
	.help = "list agents",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(OPT_LIST),
	.run = agent_ls,
};
