#include "cli/cli.h"

#include "lib/os/file.h"
#include "lib/os/process.h"

#include <string.h>

/* A row that says running, of a process that is gone, or a done one whose file
 * is gone, tells more when it says so. */
static void amend(struct backup_run_row *row)
{
	struct process_mark m = {row->pid, row->start_ticks, ""};

	snprintf(m.boot_id, sizeof m.boot_id, "%s", row->boot_id);
	if (!strcmp(row->state, "running") && !process_is_alive(&m)) {
		row->state = "failed";
		row->problem = "it was killed";
	} else if (row->path && row->ended_at != OPT_NONE &&
		   !file_exists(row->path)) {
		row->problem = "the file is not there any more";
	}
}

static int ls(struct cli *cli, struct err *e)
{
	struct backup_run_row *rows;
	int n = sql_collect(
		cli->control, Q_BACKUP_RUN_LIST,
		&(struct backup_run_list_in){cli_number(cli, "limit", 50)},
		1 << 20, &rows, &cli->arena, e);
	struct table *t;

	if (n < 0)
		return -1;
	t = table_new(&cli->out, &backup_run_row_shape,
		      "id kind state agents bytes started_at path problem");
	for (int i = 0; i < n; i++) {
		amend(&rows[i]);
		table_add(t, &rows[i]);
	}
	table_end(t);
	return 0;
}

const struct command cmd_backup_ls = {
	.name = "backup ls",
	.help = "list backups that were made or tried, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"limit", "N", "at most this many (50)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = ls,
};
