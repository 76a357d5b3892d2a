#include "cli/cli.h"

#include "schema/agent/transcript/session.h"

#include <string.h>

#define PAGE 200

static int session_ls(struct cli *cli, struct err *e)
{
	struct session_filter f = {.status = cli_option(cli, "status"),
				   .kind = cli_option(cli, "kind"),
				   .source = cli_option(cli, "source"),
				   .model = cli_option(cli, "model"),
				   .parent = cli_option(cli, "parent"),
				   .prefix = cli_option(cli, "prefix"),
				   .all = cli_flag(cli, "all"),
				   .before = cli_number(cli, "before", 0)};
	int64_t left = cli_number(cli, "limit", INT64_MAX);
	struct table *t = table_new(
		&cli->out, &session_item_shape,
		"key status kind title model events active_at");
	struct session_item *rows;
	int n = 0;

	do {
		struct arena a = {0};

		f.count = left < PAGE ? (int)left : PAGE;
		n = f.count && cli->agent.db
			    ? session_list(&cli->agent, &f, &rows, &a, e)
			    : 0;
		for (int i = 0; i < n; i++)
			table_add(t, &rows[i]);
		f.before = n > 0 ? rows[n - 1].id : 0;
		left -= n > 0 ? n : 0;
		arena_fini(&a);
	} while (n == PAGE);
	table_end(t);
	return n < 0 ? -1 : 0;
}

const struct command cmd_session_ls = {
	.name = "session ls",
	.help = "list sessions, newest first",
	.about = "Archived and ephemeral sessions are shown with --all or by "
		 "their --status.",
	.needs = NEEDS_AGENT_MAYBE,
	.options =
		(const struct option_spec[]){
			{"all", NULL, "archived and ephemeral ones too",
			 OPTION_FLAG},
			{"status", "active|archived|deleted",
			 "only those with this status", OPTION_WORD},
			{"kind", "chat|task|fork|subagent|import|system",
			 "only those of this kind", OPTION_WORD},
			{"source", "TEXT", "only those from this source",
			 OPTION_TEXT},
			{"model", "TEXT", "only those of this model",
			 OPTION_TEXT},
			{"parent", "ID", "only those that this session began",
			 OPTION_TEXT},
			{"prefix", "TEXT", "only keys that begin so",
			 OPTION_TEXT},
			{"before", "ID",
			 "go on behind the row with this number (its id)",
			 OPTION_INT},
			{"limit", "N", "at most so many", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = session_ls,
};
