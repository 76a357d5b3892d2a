/* A complete import: its row has the time, the source and the result. */
#include "ops/import/import.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/id.h"
#include "lib/base/text.h"

#include <limits.h>
#include <stdlib.h>

static void set_run_outcome(struct import_run_row *row,
			    const struct import_sum *sum, int rc)
{
	row->state = rc ? "failed" : sum->failed ? "partial" : "done";
	row->sources = sum->items;
	row->imported = sum->imported;
	row->skipped = sum->done;
	row->warnings = sum->failed + sum->unknown;
	row->ended_at = clock_now();
}

int import_apply(struct import_run *m, struct err *e)
{
	struct import_run_row row = {.importer = "any",
				     .state = "running",
				     .backup_path = m->backup,
				     .started_at = clock_now(),
				     .ended_at = OPT_NONE};
	char full[PATH_MAX];
	struct err ignored;
	int rc;

	if (!realpath(m->root, full))
		return err_errno_set(e, "%s", quoted(m->root).text);
	row.source = full;
	row.id = arena_text(&m->arena, id_new(ID_IMPORT).text);
	if (m->host->run(m->host->arg, &row, e))
		return -1;
	m->run = row.id;
	rc = fault_point(FAULT_import_begun, e) || import_plan(m, e) ||
			     fault_point(FAULT_import_done, e)
		     ? -1
		     : 0;
	set_run_outcome(&row, &m->sum, rc);
	/* report the first failure */
	if (m->host->run(m->host->arg, &row, rc ? &ignored : e))
		return -1;
	if (!rc && m->sum.failed)
		return err_set(e, ERR_FAILED,
			       "%lld items were not imported completely; their "
			       "sources are kept",
			       (long long)m->sum.failed);
	return rc;
}
