#include "cli/cli.h"

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
	struct table *t = table_new(
		&cli->out, &artifact_row_shape,
		"aid class owner kind name mime size updated_at");
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
			table_add(t, &rows[i]);
		if (n > 0)
			f.after = rows[n - 1].aid;
		left -= n > 0 ? n : 0;
	} while (n == PAGE);
	table_end(t);
	return n < 0 ? -1 : 0;
}

const struct command cmd_artifact_ls = {
	.name = "artifact ls",
	.help = "list artifacts in the order in which they were made",
	.needs = NEEDS_AGENT_MAYBE,
	.options =
		(const struct option_spec[]){
			{"run", "ID", "only those of this run", OPTION_TEXT},
			{"owner", "TEXT", "only those of this owner",
			 OPTION_TEXT},
			{"class", "tool|run|named|media", "only this class",
			 OPTION_WORD},
			{"kind", "TEXT", "only this kind", OPTION_TEXT},
			{"prefix", "TEXT", "only names that begin so",
			 OPTION_TEXT},
			{"after", "ID", "go on behind this one", OPTION_TEXT},
			{"limit", "N", "at most so many", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = artifact_ls,
};
