#include "cli/backup/backup_job.h"
#include "cli/state/ops_cli.h"

#include "lib/base/text.h"

#include <string.h>
#include <unistd.h>

/* A file that does not exist counts as deleted. */
static int delete_backup_file(struct cli *cli,
			      const struct backup_run_kept_row *old,
			      struct err *e)
{
	struct backup_run_row *rows;
	int n = sql_collect(cli->control, Q_BACKUP_RUN_LIST,
			    &(struct backup_run_list_in){1 << 20}, 1 << 20,
			    &rows, &cli->arena, e);

	for (int i = 0; i < n; i++) {
		if (strcmp(rows[i].id, old->id) != 0)
			continue;
		(void)unlink(old->path);
		rows[i].path = NULL;
		rows[i].problem = "deleted by the retention policy";
		return ops_backup_note(cli, &rows[i], e);
	}
	return n < 0 ? -1 : 0;
}

/* Deletes only scheduled backups, not those that users created. */
static int retain(struct cli *cli, int64_t keep, struct err *e)
{
	struct backup_run_kept_row *rows;
	int n = sql_collect(cli->control, Q_BACKUP_RUN_KEPT,
			    &(struct backup_run_kept_in){"scheduled"}, 1 << 20,
			    &rows, &cli->arena, e);

	for (int64_t i = keep; i < n; i++)
		if (delete_backup_file(cli, &rows[i], e))
			return -1;
	return n < 0 ? -1 : 0;
}

/* On stderr: the archive may go to standard output. */
static void print_left_out(const struct cli *cli, bool workspaces)
{
	if (cli->out.json)
		return;
	fprintf(stderr,
		"not included: %scredentials (copy %s to a safe place "
		"yourself)\n",
		workspaces ? ""
			   : "workspace directories on disk (--with-workspaces "
			     "includes them), ",
		home_path(&cli->home, HOME_CREDENTIALS).text);
}

static void print_backup(struct cli *cli, const struct backup_run_row *row)
{
	char bytes[TEXT_HUMAN], ms[TEXT_HUMAN];

	if (cli->out.json && row->path)
		output_object(&cli->out, &backup_run_row_shape, row);
	else if (row->path)
		output_note(
			&cli->out, "%s: %lld %s, %s, in %s", row->path,
			(long long)row->agents,
			text_plural(row->agents, "agent", "agents"),
			text_human_bytes(row->bytes, bytes),
			text_human_millis(row->ended_at - row->started_at, ms));
}

static int create(struct cli *cli, struct err *e)
{
	bool scheduled = cli_flag(cli, "scheduled");
	struct backup_job_options want = {
		.kind = scheduled ? "scheduled" : "manual",
		.out = cli_option(cli, "output"),
		.with_workspaces = cli_flag(cli, "with-workspaces") ||
				   (scheduled && cli->config.backup_workspaces),
		.zstd = cli_flag(cli, "zstd") ||
			(scheduled && cli->config.backup_zstd),
	};
	struct backup_run_row row;

	want.agents = ops_names(cli, "agent", &want.nagents, e);
	if (!want.agents)
		return -1;
	if (want.out && !strcmp(want.out, "-") && isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			       "refusing to write an archive to a terminal; "
			       "use a file or a pipe");
	ops_lower_priority();
	if (ops_backup_make(cli, &want, &row, e) ||
	    (scheduled && retain(cli, cli->config.backup_keep, e)))
		return -1;
	print_backup(cli, &row);
	if (!scheduled && !row.problem)
		print_left_out(cli, want.with_workspaces);
	return row.problem
		       ? err_set(e, ERR_CORRUPT, "the backup is incomplete: %s",
				 row.problem)
		       : 0;
}

const struct command cmd_backup_create = {
	.name = "backup create",
	.help = "write all databases and the configuration to one "
		"archive",
	.about = "Runs continue in the meantime. The archive is a tar file "
		 "with compact copies of all databases as of one moment, the "
		 "configuration, and the definition files of agents. It never "
		 "contains credentials, and workspace directories on disk "
		 "only with --with-workspaces; the command states what is not "
		 "included. It ends with a manifest and a "
		 "checksum, and gets its final name when it is complete and "
		 "synced to disk.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		OPT_OUTPUT("write to FILE, or to a new file in it if FILE is a "
			   "directory; '-' writes to standard output (default: "
			   "the backups directory of the home)"),
		OPTION(MANY, 'a', "agent", "AGENT",
		       "include only this agent; may be repeated"),
		FLAG(0, "with-workspaces",
		     "include the workspace directories of runs"),
		FLAG('z', "zstd", "compress the archive"),
		FLAG(0, "scheduled",
		     "use the settings of section 'backup' in skep.json, "
		     "including its retention")),
	.run = create,
};
