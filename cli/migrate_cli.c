#include "cli/migrate_cli.h"

static void show(void *arg, const struct migrate_piece *p)
{
	struct migrate_view *v = arg;

	table_add(v->t, p);
}

void migrate_view_begin(struct migrate_view *v, struct cli *cli,
			struct migrate *m)
{
	v->cli = cli;
	v->t = table_new(&cli->out, &migrate_piece_shape,
			 "importer state records bytes target path warning");
	m->tell = show;
	m->arg = v;
}

void migrate_view_end(struct migrate_view *v, const struct migrate *m)
{
	table_end(v->t);
	output_note(&v->cli->out,
		    "%lld pieces with %lld records: %lld imported, %lld done "
		    "before, %lld warnings, %lld unknown",
		    (long long)m->sum.pieces, (long long)m->sum.records,
		    (long long)m->sum.imported, (long long)m->sum.done,
		    (long long)m->sum.failed, (long long)m->sum.unknown);
}
