#include "cli/import/import_cli.h"

#include <string.h>
#include <unistd.h>

static int apply(struct cli *cli, struct err *e)
{
	struct import_writer host = import_cli_host(cli);
	struct import_run m = {.home = &cli->home,
			       .host = &host,
			       .root = cli_arg(cli, 0),
			       .agent = cli_option(cli, "agent"),
			       .control = cli->control,
			       .after = cli_option(cli, "archive")};
	struct import_view v;
	int rc;

	if (!cli_flag(cli, "yes"))
		return err_set(e, ERR_USAGE,
			       "confirm the import with --yes; 'skep import "
			       "plan %s' shows what it does",
			       m.root);
	if (access(m.root, R_OK))
		return err_errno_set(e, "%s", m.root);
	if (cli_flag(cli, "delete-source"))
		m.after = "delete";
	if (!cli_flag(cli, "dangerously-skip-backup")) {
		m.backup = import_save_first(cli, e);
		if (!m.backup)
			return -1;
	}
	import_view_begin(&v, cli, &m);
	rc = import_apply(&m, e);
	import_view_end(&v, &m);
	arena_fini(&m.arena);
	return rc;
}

const struct command cmd_import_apply = {
	.name = "import apply",
	.args = "SOURCE",
	.help = "import state from another program",
	.about = "A backup is made first. Every imported item is recorded with "
		 "its path, size and hash, so repeating an import adds only "
		 "new items, and an interrupted import can be continued. A "
		 "source is moved or deleted only if requested, and only after "
		 "all of its content has been committed. The supervisor may be "
		 "running.",
	.needs = NEEDS_CONTROL_MADE,
	.arguments = ARGUMENTS(
		{"SOURCE", "file or directory to import; see 'skep import plan "
			   "--help'"}),
	.options = OPTIONS(
		OPT_YES("confirm the import (required)"),
		OPT_AGENT("agent for records that do not name one (default "
			  "imported)"),
		OPTION(FILE, 0, "archive", "DIR",
		       "move imported sources to DIR"),
		FLAG(0, "delete-source", "delete imported sources"),
		FLAG(0, "dangerously-skip-backup",
		     "do not make a backup first")),
	.run = apply,
};
