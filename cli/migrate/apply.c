#include "cli/migrate/migrate_cli.h"

#include <string.h>
#include <unistd.h>

static int apply(struct cli *cli, struct err *e)
{
	struct migrate_host host = migrate_cli_host(cli);
	struct migrate m = {.home = &cli->home,
			    .host = &host,
			    .root = cli_arg(cli, 0),
			    .agent = cli_option(cli, "agent"),
			    .control = cli->control,
			    .after = cli_option(cli, "archive")};
	struct migrate_view v;
	int rc;

	if (!cli_flag(cli, "yes"))
		return err_set(e, ERR_USAGE,
			       "'skep migrate plan %s' says what will be done; "
			       "with --yes it is done",
			       m.root);
	if (access(m.root, R_OK))
		return err_errno_set(e, "%s", m.root);
	if (cli_flag(cli, "delete-source"))
		m.after = "delete";
	if (!cli_flag(cli, "dangerously-skip-backup")) {
		m.backup = migrate_save_first(cli, e);
		if (!m.backup)
			return -1;
	}
	migrate_view_begin(&v, cli, &m);
	rc = migrate_apply(&m, e);
	migrate_view_end(&v, &m);
	arena_fini(&m.arena);
	return rc;
}

const struct command cmd_migrate_apply = {
	.name = "migrate apply",
	.args = "SOURCE",
	.help = "import other programs' state, after a backup",
	.about =
		"What is imported is noted with its path, size and hash, so "
		"that the same again adds nothing,\nand one that was killed "
		"goes on. Of a source that grew, what is new is added. A "
		"source "
		"is removed or moved only\nafter its content is committed, and "
		"only when asked; one that was not taken whole is kept.\n"
		"A supervisor may run meanwhile.",
	.needs = NEEDS_CONTROL_MADE,
	.options =
		(const struct option_spec[]){
			{"yes", NULL, "do it", OPTION_FLAG},
			{"agent", "NAME", "for what names no agent (imported)",
			 OPTION_NAME},
			{"archive", "DIR", "move sources there when done",
			 OPTION_FILE},
			{"delete-source", NULL, "remove sources when done",
			 OPTION_FLAG},
			{"dangerously-skip-backup", NULL,
			 "make no backup first", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = apply,
};
