#include "cli/migrate_cli.h"

#include "base/file.h"

static int plan(struct cli *cli, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);
	struct migrate m = {.home = &cli->home,
			    .root = cli_arg(cli, 0),
			    .agent = cli_option(cli, "agent")};
	struct migrate_view v;
	struct err none;
	int rc;

	/* without it, nothing was done before */
	if (file_exists(path.text) &&
	    sql_open(&m.control, path.text, control_schema.queries,
		     SQL_READONLY, &none))
		m.control = NULL;
	migrate_view_begin(&v, cli, &m);
	rc = migrate_plan(&m, e);
	migrate_view_end(&v, &m);
	sql_close(m.control);
	arena_fini(&m.arena);
	return rc;
}

const struct command cmd_migrate_plan = {
	.name = "migrate plan",
	.args = "SOURCE",
	.help = "say what an import of other programs' state would do",
	.about = "SOURCE is a file or a directory: a home of OpenClaw (JSON "
		 "files or databases), a workspace of\nHiro, sessions.db of "
		 "Grida, state.db and runs/ of Lion, a file of AgentFS, or any "
		 "JSONL with\nroles and contents. Nothing is changed, neither "
		 "here nor there.",
	.needs = NEEDS_HOME,
	.options =
		(const struct option_spec[]){
			{"agent", "NAME", "for what names no agent (imported)",
			 OPTION_NAME},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = plan,
};
