#include "cli/migrate_cli.h"
#include "cli/ops_cli.h"

#include "base/clock.h"
#include "base/id.h"
#include "ops/backup.h"
#include "schema/control.h"

#include <string.h>
#include <unistd.h>

/* A backup that was proven to be whole. */
static const char *save_first(struct cli *cli, struct err *e)
{
	const char *path = ops_backup(cli, "safety", e);
	struct verify_ask ask = {.name = path};
	struct workdir w = {.lock = -1};
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	struct backup_sum sum;
	struct manifest m;
	int rc;

	if (!path)
		return NULL;
	ask.fd = ops_open_archive(path, &ask.size, e);
	if (ask.fd < 0)
		return NULL;
	rc = workdir_open(&w, dir.text, ".work", id_new(ID_BACKUP).text, e);
	ask.scratch = w.path;
	if (!rc)
		rc = backup_verify(&ask, &m, &sum, e);
	if (!rc)
		manifest_fini(&m);
	workdir_close(&w);
	close(ask.fd);
	return rc ? NULL : path;
}

static int put_run(struct cli *cli, void *arg, struct err *e)
{
	const struct migration_run_row *row = arg;

	if (sql_exec(cli->control, Q_MIGRATION_RUN_PUT, row, e) < 0)
		return -1;
	return control_audit(cli->control, NULL, "migrate.apply", row->id, NULL,
			     e);
}

static int note_run(struct cli *cli, struct migration_run_row *row,
		    struct err *e)
{
	struct cli_act act = {.direct = put_run, .arg = row};

	return cli_act(cli, &act, e);
}

static void finish(struct migration_run_row *row, const struct migrate *m,
		   int rc)
{
	row->state = rc ? "failed" : m->sum.failed ? "partial" : "done";
	row->sources = m->sum.pieces;
	row->imported = m->sum.imported;
	row->skipped = m->sum.done;
	row->warnings = m->sum.failed + m->sum.unknown;
	row->ended_at = clock_now();
}

static int import(struct cli *cli, struct migrate *m,
		  struct migration_run_row *row, struct err *e)
{
	struct migrate_view v;
	struct err ignored;
	int rc;

	migrate_view_begin(&v, cli, m);
	rc = migrate_walk(m, e);
	migrate_view_end(&v, m);
	finish(row, m, rc);
	if (note_run(cli, row, rc ? &ignored : e))
		return -1;
	if (!rc && m->sum.failed)
		return err_set(
			e, ERR_FAILED,
			"%lld pieces were not taken whole; their sources "
			"are kept",
			(long long)m->sum.failed);
	return rc;
}

static int apply(struct cli *cli, struct err *e)
{
	struct migrate m = {.home = &cli->home,
			    .root = cli_arg(cli, 0),
			    .agent = cli_option(cli, "agent"),
			    .control = cli->control,
			    .after = cli_option(cli, "archive")};
	struct migration_run_row row = {.source = m.root,
					.importer = "any",
					.state = "running",
					.started_at = clock_now(),
					.ended_at = OPT_NONE};
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
	row.id = m.run = arena_text(&cli->arena, id_new(ID_MIGRATION).text);
	if (!cli_flag(cli, "dangerously-skip-backup")) {
		row.backup_path = save_first(cli, e);
		if (!row.backup_path)
			return -1;
	}
	rc = note_run(cli, &row, e) || import(cli, &m, &row, e);
	arena_fini(&m.arena);
	return rc ? -1 : 0;
}

const struct command cmd_migrate_apply = {
	.name = "migrate apply",
	.args = "SOURCE",
	.help = "import other programs' state, after a backup",
	.about = "What is imported is noted with its path, size and hash, so "
		 "that the same again adds nothing,\nand one that was killed "
		 "goes on. A source is removed or moved only after its content "
		 "is\ncommitted, and only when asked; one that was not taken "
		 "whole is kept. No supervisor may run.",
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
