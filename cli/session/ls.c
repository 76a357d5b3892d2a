#include "cli/list.h"

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
	struct cli_list l = {
		.cli = cli,
		.shape = &session_item_shape,
		.columns = "key status kind title model events active_at",
		.none = arena_printf(&cli->arena,
				     "no sessions of agent '%s'; -a AGENT "
				     "lists those of another agent",
				     cli->agent_name),
	};
	struct session_item *rows;
	int n = 0;

	do {
		struct arena a = {0};

		f.count = left < PAGE ? (int)left : PAGE;
		n = f.count && cli->agent.db
			    ? session_list(&cli->agent, &f, &rows, &a, e)
			    : 0;
		for (int i = 0; i < n; i++)
			cli_list_add(&l, &rows[i]);
		f.before = n > 0 ? rows[n - 1].id : 0;
		left -= n > 0 ? n : 0;
		arena_fini(&a);
	} while (n == PAGE);
	if (n < 0)
		return -1;
	cli_list_end(&l);
	return 0;
}

const struct command cmd_session_ls = {
	.name = "session ls",
	.help = "list sessions, newest first",
	.about = "Archived and ephemeral sessions are hidden unless "
		 "--all or --status is given.",
	.needs = NEEDS_AGENT_MAYBE,
	.options = OPTIONS(
		OPT_ALL("list archived and ephemeral sessions too"),
		OPTION(WORD, 0, "status", "active|archived|deleted",
		       "list only sessions with this status"),
		OPTION(WORD, 0, "kind", "chat|task|fork|subagent|import|system",
		       "list only sessions of this kind"),
		OPTION(TEXT, 0, "source", "TEXT",
		       "list only sessions from this source"),
		OPTION(TEXT, 'm', "model", "MODEL",
		       "list only sessions that used this model"),
		OPTION(TEXT, 0, "parent", "SESSION",
		       "list only sessions started from this session"),
		OPTION(TEXT, 0, "prefix", "TEXT",
		       "list only sessions whose key starts with TEXT"),
		OPTION(INT, 0, "before", "ID",
		       "list only sessions older than the one with this row id "
		       "(\"id\" in the output of --json)"),
		OPT_LIMIT("list at most N sessions (default: all)"), OPT_QUIET),
	.run = session_ls,
};
