#include "cli/import/import_cli.h"

#include "lib/base/id.h"
#include "lib/os/file.h"
#include "ops/import/source.h"
#include "schema/control/control.h"

#include <stdio.h>

/*
 * The record of imports, to find items that were imported before. Reading a
 * database that no process has open would leave files beside it, so a copy is
 * read. Without one, nothing was imported before.
 */
static struct sql *open_ledger(struct cli *cli, struct staging_dir *w)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);
	const char *tmp = home_env("TMPDIR"), *file = path.text;
	char log[sizeof path.text + 8];
	struct source_stamp mark;
	struct sql *db;
	struct err ignored;

	if (!file_exists(path.text))
		return NULL;
	snprintf(log, sizeof log, "%s-wal", path.text);
	if (!file_exists(log)) {
		if (staging_dir_open(w, tmp ? tmp : "/tmp", "skep-ledger",
				     id_new(ID_IMPORT).text, &ignored) ||
		    source_copy(path.text, w->path, &mark, &ignored))
			return NULL;
		file = staging_dir_path(w, SOURCE_COPY);
	}
	return sql_open(&db, file, control_schema.queries, SQL_READONLY,
			&ignored)
		       ? NULL
		       : db;
}

static int plan(struct cli *cli, struct err *e)
{
	struct staging_dir w = {.lock = -1};
	struct import_run m = {.home = &cli->home,
			       .root = cli_arg(cli, 0),
			       .agent = cli_option(cli, "agent"),
			       .control = open_ledger(cli, &w)};
	struct import_view v;
	int rc;

	import_view_begin(&v, cli, &m);
	rc = import_plan(&m, e);
	import_view_end(&v, &m);
	sql_close(m.control);
	staging_dir_close(&w);
	arena_fini(&m.arena);
	return rc;
}

const struct command cmd_import_plan = {
	.name = "import plan",
	.args = "SOURCE",
	.help = "show what an import of another program's state "
		"would do",
	.about = "Nothing is changed.",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS(
		{"SOURCE",
		 "a home of OpenClaw (JSON files or databases), a "
		 "workspace of Hiro, sessions.db of Grida, state.db "
		 "and runs/ of Lion, an AgentFS file, or a JSONL file "
		 "with roles and contents"}),
	.options = OPTIONS(OPT_AGENT(
		"agent for records that do not name one (default imported)")),
	.run = plan,
};
