/* Imports each item once, and records it. */
#include "ops/import/import_ledger.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "schema/control/registry.h"

#include <ctype.h>
#include <string.h>

SHAPE_DEFINE(import_item, IMPORT_ITEM);

const char *import_agent_name(struct import_run *m, const char *name)
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

struct import_item import_item_of(struct import_run *m, const char *importer,
				  const char *part, const char *target)
{
	return (struct import_item){
		.importer = importer,
		.path = part ? arena_printf(&m->arena, "%s#%s", m->file->path,
					    part)
			     : m->file->path,
		.target = target,
		.bytes = m->file->mark.bytes,
		.sha256 = m->file->mark.sha256,
	};
}

static void report_item(struct import_run *m, const struct import_item *p)
{
	m->sum.items++;
	m->sum.records += p->records;
	m->sum.planned += !strcmp(p->state, "planned");
	m->sum.imported += !strcmp(p->state, "imported");
	m->sum.done += !strcmp(p->state, "done");
	m->sum.unknown += !strcmp(p->state, "unknown");
	m->sum.failed += p->warning && strcmp(p->state, "unknown") != 0;
	m->report(m->arg, p);
}

static int record_item(struct import_run *m, const struct import_item *p,
		       struct err *e)
{
	struct import_item_row row = {
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

int import_was_done(struct import_run *m, struct import_item *p, struct err *e)
{
	struct import_item_get_in in = {p->path, p->target};
	struct import_item_row row;
	int found = m->control ? sql_get(m->control, Q_IMPORT_ITEM_GET, &in,
					 &row, &m->arena, e)
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

int import_record(struct import_run *m, struct import_item *p, const char *why,
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
	return m->run ? fault_point(FAULT_import_recorded, e) : 0;
}

void import_unknown(struct import_run *m, const char *part, int64_t records,
		    const char *why)
{
	struct import_item p = import_item_of(m, "unknown", part, "-");
	struct err ignored;

	p.state = "unknown";
	p.records = records;
	p.warning = arena_text(&m->arena, why);
	m->file->failed = true; /* data that was not imported is not deleted */
	(void)record_item(m, &p, &ignored);
	report_item(m, &p);
}

/* --- items -------------------------------------------------------------------- */

int import_open_agent(struct import_run *m, const char *name,
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

static int import_new_item(struct import_run *m,
			   const struct item_options *options,
			   struct import_item *p, struct err *e)
{
	struct agent_file f = {0};
	int rc;

	if (m->file->blocked)
		return err_set(e, ERR_BUSY, "%s", m->file->blocked);
	if (m->run && options->agent &&
	    import_open_agent(m, options->agent, &f, e))
		return -1;
	rc = options->take(m, options->arg, f.db ? &f : NULL, p, e);
	agent_file_close(&f);
	if (!rc && m->run)
		rc = fault_point(FAULT_import_item, e);
	return rc;
}

int import_once(struct import_run *m, const struct item_options *options,
		struct err *e)
{
	struct import_item p = import_item_of(m, options->importer,
					      options->part, options->target);
	int done = import_was_done(m, &p, e);
	struct err why;

	if (done)
		return done < 0 ? -1 : 0;
	p.records = 0;
	return import_record(
		m, &p, import_new_item(m, options, &p, &why) ? why.text : NULL,
		e);
}
