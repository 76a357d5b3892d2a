#include "cli/import/import_cli.h"

#include "cli/state/ops_cli.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
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
	if (!m->sum.items)
		return; /* the error says why */
	output_note(&v->cli->out,
		    "%lld %s with %lld %s: %lld imported, %lld imported "
		    "before, %lld warnings, %lld unknown",
		    (long long)m->sum.items,
		    text_plural(m->sum.items, "item", "items"),
		    (long long)m->sum.records,
		    text_plural(m->sum.records, "record", "records"),
		    (long long)m->sum.imported, (long long)m->sum.done,
		    (long long)m->sum.failed, (long long)m->sum.unknown);
}

/* A verified backup. */
const char *import_save_first(struct cli *cli, struct err *e)
{
	const char *path = ops_backup(cli, "safety", e);
	struct verify_options options = {.name = path};
	struct staging_dir w = {.lock = -1};
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	struct backup_sum sum;
	struct manifest m;
	int rc;

	if (!path)
		return NULL;
	options.fd = ops_open_archive(path, &options.size, e);
	if (options.fd < 0)
		return NULL;
	rc = staging_dir_open(&w, dir.text, ".work", id_new(ID_BACKUP).text, e);
	options.scratch = w.path;
	if (!rc)
		rc = backup_verify(&options, &m, &sum, e);
	if (!rc)
		manifest_fini(&m);
	staging_dir_close(&w);
	close(options.fd);
	return rc ? NULL : path;
}
