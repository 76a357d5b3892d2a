#include "cli/list.h"

#include "lib/os/file.h"
#include "lib/os/process.h"

#include <string.h>

/* Marks running backups whose process has ended, and finished ones whose file
 * is missing. */
static void amend(struct cli *cli, void *arg)
{
	struct backup_run_row *row = arg;
	struct process_identity m = {row->pid, row->start_ticks, ""};

	(void)cli;
	snprintf(m.boot_id, sizeof m.boot_id, "%s", row->boot_id);
	if (!strcmp(row->state, "running") && !process_is_alive(&m)) {
		row->state = "failed";
		row->problem = "the process was killed";
	} else if (row->path && row->ended_at != OPT_NONE &&
		   !file_exists(row->path)) {
		row->problem = "the file no longer exists";
	}
}

static int ls(struct cli *cli, struct err *e)
{
	struct backup_run_list_in in = {cli_number(cli, "limit", 50)};
	struct cli_list l = {
		.cli = cli,
		.shape = &backup_run_row_shape,
		.columns = "id kind state agents bytes started_at path problem",
		.none = "no backups; 'skep backup create' makes one",
		.prepare = amend,
	};

	return cli_list_query(&l, cli->control, Q_BACKUP_RUN_LIST, &in, e);
}

const struct command cmd_backup_ls = {
	.name = "backup ls",
	.help = "list completed and failed backups, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_LIMIT("list at most N backups (default 50)"),
			   OPT_LIST),
	.run = ls,
};
