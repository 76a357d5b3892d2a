/* A migration as a whole: its row says when, from where, and what came of it. */
#include "ops/migrate.h"

#include "base/clock.h"
#include "base/id.h"

static void finish(struct migration_run_row *row, const struct migrate_sum *sum,
		   int rc)
{
	row->state = rc ? "failed" : sum->failed ? "partial" : "done";
	row->sources = sum->pieces;
	row->imported = sum->imported;
	row->skipped = sum->done;
	row->warnings = sum->failed + sum->unknown;
	row->ended_at = clock_now();
}

int migrate_apply(struct migrate *m, struct err *e)
{
	struct migration_run_row row = {.source = m->root,
					.importer = "any",
					.state = "running",
					.backup_path = m->backup,
					.started_at = clock_now(),
					.ended_at = OPT_NONE};
	struct err ignored;
	int rc;

	row.id = arena_text(&m->arena, id_new(ID_MIGRATION).text);
	if (m->host->run(m->host->arg, &row, e))
		return -1;
	m->run = row.id;
	rc = migrate_plan(m, e);
	finish(&row, &m->sum, rc);
	/* what went wrong first is what is told */
	if (m->host->run(m->host->arg, &row, rc ? &ignored : e))
		return -1;
	if (!rc && m->sum.failed)
		return err_set(
			e, ERR_FAILED,
			"%lld pieces were not taken whole; their sources "
			"are kept",
			(long long)m->sum.failed);
	return rc;
}
