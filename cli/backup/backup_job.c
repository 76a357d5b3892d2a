/* Creates backups, for `skep backup create` and for commands that make one
 * before a change. */
#include "cli/backup/backup_job.h"

#include "cli/state/ops_cli.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/id.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "lib/os/process.h"
#include "ops/backup/backup.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* skep-20261116T063000Z-4x7f2q.tar: names sort by time and are unique. */
static const char *choose_path(struct cli *cli, const char *out, const char *id,
			       bool zstd)
{
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	time_t now = (time_t)(clock_now() / 1000);
	struct tm tm;
	char when[32];

	if (out && !is_directory(out))
		return out;
	gmtime_r(&now, &tm);
	strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &tm);
	return arena_printf(&cli->arena, "%s/skep-%s-%s.tar%s",
			    out ? out : dir.text, when, id + strlen(id) - 6,
			    zstd ? ".zst" : "");
}

static void name_us(struct backup_run_row *row, struct arena *a)
{
	struct process_identity self = process_self();

	row->pid = self.pid;
	row->start_ticks = self.start_ticks;
	row->boot_id = arena_text(a, self.boot_id);
	row->started_at = clock_now();
	row->ended_at = OPT_NONE;
}

static int write_file(struct backup_options *options, const char *path,
		      struct backup_sum *sum, struct err *e)
{
	struct atomic_file f;
	int rc = atomic_file_create(&f, path, 0600, e);

	if (!rc) {
		options->fd = f.fd;
		rc = backup_write(options, sum, e);
		if (!rc)
			rc = fault_point(FAULT_backup_complete, e);
	}
	return atomic_file_end(&f, rc, e);
}

static void set_backup_outcome(struct backup_run_row *row, int rc,
			       const struct backup_sum *sum,
			       const struct err *e, struct arena *a)
{
	row->ended_at = clock_now();
	row->state = rc ? "failed" : sum->problems ? "partial" : "done";
	row->bytes = sum->bytes;
	row->files = sum->files;
	row->agents = sum->agents;
	row->sha256 = rc ? NULL : arena_text(a, sum->sha256);
	row->problem = rc              ? arena_text(a, e->text)
		       : sum->problems ? arena_text(a, sum->problem)
				       : NULL;
	if (rc)
		row->path = NULL;
}

int ops_backup_make(struct cli *cli, const struct backup_job_options *want,
		    struct backup_run_row *row, struct err *e)
{
	bool pipe = want->out && !strcmp(want->out, "-");
	struct backup_options options = {
		.home = &cli->home,
		.agents = want->agents,
		.nagents = want->nagents,
		.with_workspaces = want->with_workspaces,
		.zstd = want->zstd};
	struct backup_sum sum = {0};
	struct ops_bar bar;
	struct id id = id_new(ID_BACKUP);
	struct err ignored;
	int rc;

	*row = (struct backup_run_row){.kind = want->kind, .state = "running"};
	row->id = options.id = arena_text(&cli->arena, id.text);
	name_us(row, &cli->arena);
	row->path = pipe ? NULL
			 : choose_path(cli, want->out, row->id, want->zstd);
	/* a mistake of the caller is not a failed backup: no row */
	if (!pipe && file_exists(row->path))
		return err_set(e, ERR_CONFLICT,
			       "%s already exists; delete it or choose another "
			       "name",
			       row->path);
	options.name = pipe ? "standard output" : row->path;
	options.progress = ops_bar(&bar, cli, "backing up agents");
	if (ops_backup_note(cli, row, e))
		return -1;
	options.fd = STDOUT_FILENO;
	rc = pipe ? backup_write(&options, &sum, e)
		  : write_file(&options, row->path, &sum, e);
	ops_bar_end(&bar);
	set_backup_outcome(row, rc, &sum, e, &cli->arena);
	/* report the first error */
	return ops_backup_note(cli, row, rc ? &ignored : e) || rc ? -1 : 0;
}

const char *ops_backup(struct cli *cli, const char *kind, struct err *e)
{
	struct backup_job_options want = {.kind = kind};
	struct backup_run_row row;

	return ops_backup_make(cli, &want, &row, e) ? NULL : row.path;
}
