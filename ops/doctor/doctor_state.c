/* Databases: versions, owners, logs, readers, and integrity. */
#include "ops/doctor/doctor.h"

#include "lib/base/text.h"
#include "lib/db/integrity.h"
#include "lib/db/migrate.h"
#include "lib/os/file.h"
#include "ops/maintain/wal_readers.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_BYTES (INT64_C(64) << 20)
#define FRAME     4120 /* approximate size of a page in the log */

static void check_log(struct doctor *d, const char *path)
{
	char wal[PATH_MAX + 8], text[TEXT_HUMAN];
	struct arena a = {0};
	struct wal_reader *rows;
	int n = wal_readers_of(d->readers, path, &rows, &a);

	snprintf(wal, sizeof wal, "%s-wal", path);
	if (file_size(wal) > LOG_BYTES)
		doctor_report(d, FINDING_log_large, path, "its log has %s",
			      text_human_bytes(file_size(wal), text));
	for (int i = 0; i < n; i++)
		if (rows[i].pinned_frames * FRAME > LOG_BYTES)
			doctor_report(
				d, FINDING_reader_long, path,
				"%s (process %" PRId64 ") holds back %s of "
				"its log",
				rows[i].program, rows[i].pid,
				text_human_bytes(rows[i].pinned_frames * FRAME,
						 text));
	arena_fini(&a);
}

/* The version in the header, or a newer one that is still in the log. */
static int version_of(const char *path, const struct db_schema *s)
{
	int version = db_peek_version(path);
	int64_t in_log = 0;
	struct err ignored;
	struct sql *db;

	if (version < 0 || version >= s->version ||
	    sql_open(&db, path, NULL, SQL_READONLY, &ignored))
		return version;
	if (sql_script_i64(db, "PRAGMA user_version", &in_log, &ignored) == 0 &&
	    in_log > version)
		version = (int)in_log;
	sql_close(db);
	return version;
}

/* False if further checks are pointless. */
static bool check_version(struct doctor *d, const char *path,
			  const struct db_schema *s)
{
	int version = version_of(path, s);

	if (version > s->version)
		doctor_report(d, FINDING_schema_newer, path,
			      "it has version %d, this skep knows %d", version,
			      s->version);
	else if (version < 0)
		doctor_report(d, FINDING_unreadable, path,
			      "it is not a SQLite database");
	else if (version < s->version)
		doctor_report(d, FINDING_schema_older, path,
			      "it has version %d, this skep makes %d", version,
			      s->version);
	return version >= 0 && version <= s->version;
}

/* Progress within the current database. */
static void at_table(void *arg, int64_t done, int64_t total)
{
	const struct doctor *d = arg;

	ops_progress_report(&d->progress, 1000 * d->done + 1000 * done / total,
			    1000 * d->all);
}

static void one_done(struct doctor *d)
{
	d->done++;
	ops_progress_report(&d->progress, 1000 * d->done, 1000 * d->all);
}

/* Table by table if it is large, so that no read transaction is long. */
static void check_whole(struct doctor *d, struct sql *db)
{
	struct arena a = {0};
	const char *problem = NULL;
	struct err e;

	if (d->quick)
		return;
	if (db_check_live(db, at_table, d, &problem, &a, &e))
		doctor_report(d, FINDING_unreadable, sql_path(db), "%s",
			      e.text);
	else if (problem)
		doctor_report(d, FINDING_damaged, sql_path(db), "%s", problem);
	arena_fini(&a);
}

/* Whether all tables and columns exist that this program uses. */
static void check_queries(struct doctor *d, struct sql *db)
{
	struct err e;

	if (!d->quick && sql_check(db, &e))
		doctor_report(d, FINDING_damaged, sql_path(db), "%s", e.text);
}

/* As a bare database: this program's queries may not fit its tables. */
static void check_bare(struct doctor *d, const char *path)
{
	struct sql *db;
	struct err e;

	if (sql_open(&db, path, NULL, SQL_READONLY, &e)) {
		doctor_report(d, FINDING_unreadable, path, "%s", e.text);
		return;
	}
	check_whole(d, db);
	sql_close(db);
}

/* --- agents ---------------------------------------------------------------- */

static void check_content(struct doctor *d,
			  const struct agent_database_row *row)
{
	struct agent_file f;
	struct err e;

	if (registry_open(row, SQL_READONLY, &f, &e) == 0) {
		check_whole(d, f.db);
		check_queries(d, f.db);
		agent_file_close(&f);
	} else if (e.code == ERR_CONFLICT || e.code == ERR_STALE) {
		doctor_report(d, FINDING_file_foreign, row->path, "%s", e.text);
		check_bare(d, row->path);
	} else {
		doctor_report(d, FINDING_unreadable, row->path, "%s", e.text);
	}
}

static void check_agent(struct doctor *d, const struct agent_database_row *row)
{
	if (!file_exists(row->path)) {
		doctor_report(d, FINDING_file_missing, row->path,
			      "the file of agent '%s' is not there",
			      row->agent);
		return;
	}
	if (!check_version(d, row->path, &agent_schema))
		return;
	check_log(d, row->path);
	if (version_of(row->path, &agent_schema) == agent_schema.version)
		check_content(d, row);
	else
		check_bare(d, row->path); /* its first use would change it */
}

static int by_agent(const void *a, const void *b)
{
	const struct agent_database_row *x = a, *y = b;

	return strcmp(x->agent, y->agent);
}

/* Nearly always the row of the agent in whose directory it is. */
static bool is_known(const struct agent_database_row *rows, int n,
		     const char *agent, const char *path)
{
	struct agent_database_row key = {.agent = agent};
	const struct agent_database_row *at = bsearch(&key, rows, (size_t)n,
						      sizeof *rows, by_agent);

	if (at && !strcmp(at->path, path))
		return true;
	for (int i = 0; i < n; i++)
		if (!strcmp(rows[i].path, path))
			return true;
	return false;
}

static void check_leftovers(struct doctor *d,
			    const struct agent_database_row *rows, int n)
{
	struct home_path dir = home_path(d->home, HOME_AGENTS);
	DIR *all = opendir(dir.text);
	const struct dirent *en;

	while (all && (en = readdir(all))) {
		struct home_path path = registry_path(d->home, en->d_name);

		if (en->d_name[0] != '.' && file_exists(path.text) &&
		    !is_known(rows, n, en->d_name, path.text))
			doctor_report(d, FINDING_file_unknown, path.text,
				      "no row of the registry names it");
	}
	if (all)
		closedir(all);
}

void doctor_databases(struct doctor *d)
{
	struct home_path control = home_path(d->home, HOME_CONTROL_DB);
	struct agent_database_row *rows = NULL;
	struct arena a = {0};
	struct err e;
	int n = 0;

	if (d->control)
		n = sql_collect(d->control, Q_AGENT_DATABASE_LIST, NULL,
				1 << 20, &rows, &a, &e);
	d->all = 1 + (n > 0 ? n : 0);
	if (file_exists(control.text) &&
	    check_version(d, control.text, &control_schema)) {
		check_log(d, control.text);
		check_bare(d, control.text);
	}
	one_done(d);
	for (int i = 0; i < n; i++) {
		check_agent(d, &rows[i]);
		one_done(d);
	}
	if (d->control && n >= 0)
		check_leftovers(d, rows, n);
	arena_fini(&a);
}
