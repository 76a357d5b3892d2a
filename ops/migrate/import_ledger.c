/* Imports each piece once, and records it. */
#include "ops/migrate/import_ledger.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "schema/control/registry.h"

#include <ctype.h>
#include <string.h>

SHAPE_DEFINE(migrate_item, MIGRATE_PIECE);

const char *migrate_agent_name(struct migrate *m, const char *name)
{
	char *fit;

	if (!name || !*name)
		name = m->agent ? m->agent : "imported";
	fit = arena_textn(&m->arena, name,
			  strlen(name) < 64 ? strlen(name) : 64);
	for (char *c = fit; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '-';
	if (!isalnum((unsigned char)*fit))
		*fit = 'x';
	return fit;
}

/* --- the ledger ---------------------------------------------------------------- */

struct migrate_item migrate_item_of(struct migrate *m, const char *importer,
				    const char *part, const char *target)
{
	return (struct migrate_item){
		.importer = importer,
		.path = part ? arena_printf(&m->arena, "%s#%s", m->file->path,
					    part)
			     : m->file->path,
		.target = target,
		.bytes = m->file->mark.bytes,
		.sha256 = m->file->mark.sha256,
	};
}

static void report_item(struct migrate *m, const struct migrate_item *p)
{
	m->sum.pieces++;
	m->sum.records += p->records;
	m->sum.planned += !strcmp(p->state, "planned");
	m->sum.imported += !strcmp(p->state, "imported");
	m->sum.done += !strcmp(p->state, "done");
	m->sum.unknown += !strcmp(p->state, "unknown");
	m->sum.failed += p->warning && strcmp(p->state, "unknown") != 0;
	m->tell(m->arg, p);
}

static int record_item(struct migrate *m, const struct migrate_item *p,
		       struct err *e)
{
	struct migration_source_row row = {
		.path = p->path,
		.target = p->target,
		.mtime_ns = m->file->mark.mtime_ns,
		.bytes = p->bytes,
		.sha256 = p->sha256,
		.run = m->run,
		.importer = p->importer,
		/* existing data counts as imported */
		.state = strcmp(p->state, "done") ? p->state : "imported",
		.records = p->records,
		.warning = p->warning,
		.at = clock_now(),
	};

	return m->run ? m->host->source(m->host->arg, &row, e) : 0;
}

int migrate_was_done(struct migrate *m, struct migrate_item *p, struct err *e)
{
	struct migration_source_get_in in = {p->path, p->target};
	struct migration_source_row row;
	int found = m->control ? sql_get(m->control, Q_MIGRATION_SOURCE_GET,
					 &in, &row, &m->arena, e)
			       : 0;

	if (found <= 0 || strcmp(row.state, "imported") != 0)
		return found < 0 ? -1 : 0;
	p->records = row.records;
	if (row.bytes != p->bytes || strcmp(row.sha256, p->sha256) != 0)
		return 0;
	p->state = "done";
	p->warning = row.warning;
	m->file->failed = m->file->failed || p->warning;
	if (row.mtime_ns != m->file->mark.mtime_ns && record_item(m, p, e))
		return -1;
	report_item(m, p);
	return 1;
}

int migrate_record(struct migrate *m, struct migrate_item *p, const char *why,
		   struct err *e)
{
	if (why) {
		p->state = "failed";
		p->warning = arena_text(&m->arena, why);
	} else if (!p->state) {
		p->state = !m->run ? "planned" : p->added ? "imported" : "done";
	}
	m->file->failed = m->file->failed || p->warning;
	if (record_item(m, p, e))
		return -1;
	report_item(m, p);
	return m->run ? fault_point(FAULT_migration_noted, e) : 0;
}

void migrate_unknown(struct migrate *m, const char *part, int64_t records,
		     const char *why)
{
	struct migrate_item p = migrate_item_of(m, "unknown", part, "-");
	struct err ignored;

	p.state = "unknown";
	p.records = records;
	p.warning = arena_text(&m->arena, why);
	m->file->failed = true; /* data that was not imported is not deleted */
	(void)record_item(m, &p, &ignored);
	report_item(m, &p);
}

/* --- pieces -------------------------------------------------------------------- */

int migrate_open_agent(struct migrate *m, const char *name,
		       struct agent_file *f, struct err *e)
{
	struct agent_database_row row;
	struct arena a = {0};
	int rc = m->host->agent(m->host->arg, name, NULL, e) < 0 ||
		 m->host->file(m->host->arg, name, &row, &a, e) ||
		 registry_open(&row, 0, f, e);

	arena_fini(&a);
	return rc ? -1 : 0;
}

static int import_item(struct migrate *m, const struct item_options *ask,
		       struct migrate_item *p, struct err *e)
{
	struct agent_file f = {0};
	int rc;

	if (m->file->blocked)
		return err_set(e, ERR_BUSY, "%s", m->file->blocked);
	if (m->run && ask->agent && migrate_open_agent(m, ask->agent, &f, e))
		return -1;
	rc = ask->take(m, ask->arg, f.db ? &f : NULL, p, e);
	agent_file_close(&f);
	if (!rc && m->run)
		rc = fault_point(FAULT_migration_piece, e);
	return rc;
}

int migrate_item(struct migrate *m, const struct item_options *ask,
		 struct err *e)
{
	struct migrate_item p = migrate_item_of(m, ask->importer, ask->part,
						ask->target);
	int done = migrate_was_done(m, &p, e);
	struct err why;

	if (done)
		return done < 0 ? -1 : 0;
	p.records = 0;
	return migrate_record(
		m, &p, import_item(m, ask, &p, &why) ? why.text : NULL, e);
}
