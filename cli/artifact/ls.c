#include "cli/list.h"

#include "schema/agent/artifact.h"

#define PAGE 200

static int artifact_ls(struct cli *cli, struct err *e)
{
	struct artifact_filter f = {.class = cli_option(cli, "class"),
				    .owner = cli_option(cli, "owner"),
				    .kind = cli_option(cli, "kind"),
				    .prefix = cli_option(cli, "prefix"),
				    .after = cli_option(cli, "after")};
	int64_t left = cli_number(cli, "limit", INT64_MAX);
	struct cli_list l = {
		.cli = cli,
		.shape = &artifact_row_shape,
		.columns = "aid class owner kind name mime size updated_at",
		.none = arena_printf(&cli->arena, "no artifacts of agent '%s'",
				     cli->agent_name),
	};
	struct artifact_row *rows;
	int n = 0;

	if (cli_option(cli, "run"))
		f.owner = cli_option(cli, "run");
	do {
		f.count = left < PAGE ? (int)left : PAGE;
		n = f.count && cli->agent.db
			    ? artifact_list(cli->agent.db, &f, &rows,
					    &cli->arena, e)
			    : 0;
		for (int i = 0; i < n; i++)
			cli_list_add(&l, &rows[i]);
		if (n > 0)
			f.after = rows[n - 1].aid;
		left -= n > 0 ? n : 0;
	} while (n == PAGE);
	if (n < 0)
		return -1;
	cli_list_end(&l);
	return 0;
}

const struct command cmd_artifact_ls = {
	.name = "artifact ls",
	.help = "list artifacts, oldest first",
	.needs = NEEDS_AGENT_MAYBE,
	.options = OPTIONS(
		OPTION(TEXT, 0, "run", "RUN",
		       "list only artifacts of this run"),
		OPTION(TEXT, 0, "owner", "TEXT",
		       "list only artifacts of this owner"),
		OPTION(WORD, 0, "class", "tool|run|named|media",
		       "list only artifacts of this class"),
		OPTION(TEXT, 0, "kind", "TEXT",
		       "list only artifacts of this kind"),
		OPTION(TEXT, 0, "prefix", "TEXT",
		       "list only artifacts whose name starts with TEXT"),
		OPTION(TEXT, 0, "after", "ID", "continue after this artifact"),
		OPT_LIMIT("list at most N artifacts (default: all)"), OPT_LIST),
	.run = artifact_ls,
};
