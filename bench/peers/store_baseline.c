/* The baseline: the minimum that SQLite needs to commit an event. One table,
 * one insert, no look-ups, no second index, with the settings of our files. */
#include "bench/suites/store.h"
#include "lib/base/clock.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int store_sqlite_fail(struct sqlite3 *db, const char *what, struct err *e)
{
	int rc = sqlite3_errcode(db);

	return err_set(e, (rc & 0xff) == SQLITE_BUSY ? ERR_BUSY : ERR_IO,
		       "%s: %s", what, sqlite3_errmsg(db));
}

/* Writers that start together all switch the new file to WAL, which SQLite
 * rejects for all but one, regardless of busy_timeout. */
int store_sqlite_open(struct sqlite3 **out, const char *dir, const char *name,
		      const char *script, struct err *e)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	rc = sqlite3_open(path, out);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(*out, 30000);
	for (int i = 0; rc == SQLITE_OK && i < 1000; i++) {
		rc = sqlite3_exec(*out, script, NULL, NULL, NULL);
		if ((rc & 0xff) != SQLITE_BUSY)
			break;
		rc = SQLITE_OK;
		usleep(5000);
	}
	return rc == SQLITE_OK ? 0 : store_sqlite_fail(*out, path, e);
}

static const char schema[] =
	"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
	"PRAGMA secure_delete=OFF; PRAGMA wal_autocheckpoint=4000;"
	"CREATE TABLE IF NOT EXISTS event ("
	"  pos INTEGER PRIMARY KEY, type INTEGER NOT NULL,"
	"  at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;";

struct baseline_store {
	sqlite3 *db;
	sqlite3_stmt *begin, *insert, *commit, *read;
	int64_t next;
};

static void close_baseline(void *store)
{
	struct baseline_store *s = store;

	sqlite3_finalize(s->begin);
	sqlite3_finalize(s->insert);
	sqlite3_finalize(s->commit);
	sqlite3_finalize(s->read);
	sqlite3_close(s->db);
	free(s);
}

static int prepare_statements(struct baseline_store *s)
{
	return sqlite3_prepare_v2(s->db, "BEGIN IMMEDIATE", -1, &s->begin,
				  NULL) ||
	       sqlite3_prepare_v2(s->db,
				  "INSERT INTO event VALUES (?1, 1, ?2, ?3)",
				  -1, &s->insert, NULL) ||
	       sqlite3_prepare_v2(s->db, "COMMIT", -1, &s->commit, NULL) ||
	       sqlite3_prepare_v2(s->db,
				  "SELECT body FROM event WHERE pos >> 32 = ?1 "
				  "ORDER BY pos",
				  -1, &s->read, NULL);
}

/* A session is a number: the hash of its name. */
static int64_t number_of(const char *session)
{
	uint32_t h = 2166136261u;

	for (; *session; session++)
		h = (h ^ (unsigned char)*session) * 16777619u;
	return (int64_t)(h & 0x7fffffff);
}

static int open_baseline(void **out, const char *dir, const char *session,
			 struct err *e)
{
	struct baseline_store *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	s->next = number_of(session) << 32 | 1;
	if (store_sqlite_open(&s->db, dir, "floor.sqlite", schema, e)) {
		close_baseline(s);
		return -1;
	}
	if (prepare_statements(s)) {
		store_sqlite_fail(s->db, "prepare", e);
		close_baseline(s);
		return -1;
	}
	*out = s;
	return 0;
}

static int step_reset(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc != SQLITE_DONE;
}

static int append_baseline(void *store, const struct store_event *ev, size_t n,
			   struct err *e)
{
	struct baseline_store *s = store;
	int64_t now = clock_now();
	int bad = step_reset(s->begin);

	for (size_t i = 0; i < n && !bad; i++) {
		sqlite3_bind_int64(s->insert, 1, s->next++);
		sqlite3_bind_int64(s->insert, 2, now);
		sqlite3_bind_text(s->insert, 3, ev[i].json, (int)ev[i].n,
				  SQLITE_STATIC);
		bad = step_reset(s->insert);
	}
	if (bad || step_reset(s->commit)) {
		store_sqlite_fail(s->db, "append", e);
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return 0;
}

static int read_baseline(void *store,
			 int (*each)(void *arg, const char *json, size_t n),
			 void *arg, struct err *e)
{
	struct baseline_store *s = store;
	int rc, stop = 0;

	sqlite3_bind_int64(s->read, 1, s->next >> 32);
	while ((rc = sqlite3_step(s->read)) == SQLITE_ROW && !stop)
		stop = each(arg, (const char *)sqlite3_column_text(s->read, 0),
			    (size_t)sqlite3_column_bytes(s->read, 0));
	sqlite3_reset(s->read);
	return rc == SQLITE_DONE || stop ? 0
					 : store_sqlite_fail(s->db, "read", e);
}

const struct store_kind store_baseline = {
	.name = "floor",
	.what = "one table, one insert, nothing checked",
	.open = open_baseline,
	.append = append_baseline,
	.read = read_baseline,
	.close = close_baseline,
};
