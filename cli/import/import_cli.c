#include "cli/import/import_cli.h"

#include "cli/state/ops_cli.h"
#include "lib/base/id.h"
#include "ops/backup/backup.h"

#include <unistd.h>

static void print_item(void *arg, const struct import_item *p)
{
	struct import_view *v = arg;

	table_add(v->t, p);
}

void import_view_begin(struct import_view *v, struct cli *cli,
		       struct import_run *m)
{
	v->cli = cli;
	v->t = table_new(
		&cli->out, &import_item_shape,
		"importer state records added bytes target path warning");
	m->report = print_item;
	m->arg = v;
}

void import_view_end(struct import_view *v, const struct import_run *m)
{
	table_end(v->t);
	output_note(&v->cli->out,
		    "%lld items with %lld records: %lld "
		    "imported, %lld imported before, %lld "
		    "warnings, %lld unknown",
		    (long long)m->sum.items, (long long)m->sum.records,
		    (long long)m->sum.imported, (long long)m->sum.done,
		    (long long)m->sum.failed, (long long)m->sum.unknown);
}

/* A verified backup. */
const char *import_save_first(struct cli *cli, struct err *e)
{
	const char *path = ops_backup(cli, "safety", e);
	struct verify_options ask = {.name = path};
	struct staging_dir w = {.lock = -1};
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	struct backup_sum sum;
	struct manifest m;
	int rc;

	if (!path)
		return NULL;
	ask.fd = ops_open_archive(path, &ask.size, e);
	if (ask.fd < 0)
		return NULL;
	rc = staging_dir_open(&w, dir.text, ".work", id_new(ID_BACKUP).text, e);
	ask.scratch = w.path;
	if (!rc)
		rc = backup_verify(&ask, &m, &sum, e);
	if (!rc)
		manifest_fini(&m);
	staging_dir_close(&w);
	close(ask.fd);
	return rc ? NULL : path;
}
