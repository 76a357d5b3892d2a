/*
 * The reference program: straightforward tables with cached statements. It is
 * fixed, so that a ratio to it keeps its meaning: text session ids, random
 * event ids, three secondary indexes, one transaction per event with every step
 * as a statement, WAL, synchronous=NORMAL, otherwise SQLite's defaults.
 */
#include "bench/suites/store.h"
#include "lib/base/clock.h"
#include "lib/base/id.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static const char schema[] =
	"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
	"PRAGMA foreign_keys=ON; PRAGMA busy_timeout=30000;"
	"CREATE TABLE IF NOT EXISTS session_entries ("
	"  session_key TEXT PRIMARY KEY, entry_json TEXT, updated_at INTEGER);"
	"CREATE TABLE IF NOT EXISTS transcript_events ("
	"  session_id TEXT NOT NULL, seq INTEGER NOT NULL,"
	"  event_json TEXT NOT NULL, created_at INTEGER NOT NULL,"
	"  PRIMARY KEY (session_id, seq));"
	"CREATE INDEX IF NOT EXISTS transcript_events_created"
	"  ON transcript_events (session_id, created_at DESC, seq DESC);"
	"CREATE TABLE IF NOT EXISTS transcript_event_identities ("
	"  session_id TEXT NOT NULL, event_id TEXT NOT NULL,"
	"  seq INTEGER NOT NULL, event_type TEXT, has_parent INTEGER,"
	"  parent_id TEXT, message_idempotency_key TEXT, created_at INTEGER,"
	"  PRIMARY KEY (session_id, event_id),"
	"  FOREIGN KEY (session_id, seq)"
	"    REFERENCES transcript_events (session_id, seq));"
	"CREATE UNIQUE INDEX IF NOT EXISTS transcript_event_keys"
	"  ON transcript_event_identities (session_id,"
	"    message_idempotency_key)"
	"  WHERE message_idempotency_key IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS transcript_event_tail"
	"  ON transcript_event_identities (session_id, seq DESC)"
	"  WHERE has_parent = 1;";

enum {
	BEGIN,
	SESSION,
	FIND_KEY,
	NEXT_SEQ,
	TAIL,
	EVENT,
	IDENTITY,
	COMMIT,
	READ,
	READ_TAIL,
	PATCH,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[SESSION] = "INSERT OR IGNORE INTO session_entries VALUES (?1, '{}', "
		    "?2)",
	[FIND_KEY] = "SELECT seq FROM transcript_event_identities WHERE "
		     "session_id = ?1 AND message_idempotency_key = ?2",
	[NEXT_SEQ] = "SELECT coalesce(max(seq), 0) + 1 FROM transcript_events "
		     "WHERE session_id = ?1",
	[TAIL] = "SELECT event_id FROM transcript_event_identities WHERE "
		 "session_id = ?1 AND has_parent = 1 ORDER BY seq DESC LIMIT 1",
	[EVENT] = "INSERT INTO transcript_events VALUES (?1, ?2, ?3, ?4)",
	[IDENTITY] = "INSERT INTO transcript_event_identities VALUES (?1, ?2, "
		     "?3, 'message', 1, ?4, ?5, ?6)",
	[COMMIT] = "COMMIT",
	[READ] = "SELECT event_json FROM transcript_events WHERE session_id = "
		 "?1 ORDER BY seq",
	[READ_TAIL] = "SELECT event_json FROM transcript_events WHERE "
		      "session_id = ?1 ORDER BY seq DESC LIMIT ?2",
	[PATCH] = "UPDATE session_entries SET entry_json = "
		  "json_patch(entry_json, ?2), updated_at = ?3 WHERE "
		  "session_key = ?1",
};

struct reference {
	sqlite3 *db;
	sqlite3_stmt *st[STATEMENTS];
	char session[64];
};

static void close_reference(void *store)
{
	struct reference *s = store;

	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->st[i]);
	sqlite3_close(s->db);
	free(s);
}

static int open_reference(void **out, const char *dir, const char *session,
			  struct err *e)
{
	struct reference *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	snprintf(s->session, sizeof s->session, "%s", session);
	if (store_sqlite_open(&s->db, dir, "reference.sqlite", schema, e)) {
		close_reference(s);
		return -1;
	}
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v2(s->db, texts[i], -1, &s->st[i], NULL)) {
			store_sqlite_fail(s->db, texts[i], e);
			close_reference(s);
			return -1;
		}
	*out = s;
	return 0;
}

static void random_uuid(char out[37])
{
	unsigned char r[16];

	id_random(r, sizeof r);
	snprintf(out, 37,
		 "%02x%02x%02x%02x-%02x%02x-4%x%02x-%02x%02x-%02x%02x%02x%02x"
		 "%02x%02x",
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6] & 15, r[7],
		 (r[8] & 0x3f) | 0x80, r[9], r[10], r[11], r[12], r[13], r[14],
		 r[15]);
}

/* Steps a statement whose rows are ignored; 0 if it succeeded. */
static int step_done(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc != SQLITE_DONE && rc != SQLITE_ROW;
}

static int insert(struct reference *s, const struct store_event *ev,
		  int64_t now)
{
	sqlite3_stmt *seq = s->st[NEXT_SEQ], *tail = s->st[TAIL];
	sqlite3_stmt *event = s->st[EVENT], *id = s->st[IDENTITY];
	char uuid[37];
	int64_t next;
	int bad;

	random_uuid(uuid);
	if (sqlite3_step(seq) != SQLITE_ROW)
		return -1;
	next = sqlite3_column_int64(seq, 0);
	sqlite3_reset(seq);
	sqlite3_bind_text(id, 2, uuid, -1, SQLITE_STATIC);
	sqlite3_bind_int64(id, 3, next);
	sqlite3_bind_null(id, 4);
	if (sqlite3_step(tail) == SQLITE_ROW)
		sqlite3_bind_value(id, 4, sqlite3_column_value(tail, 0));
	sqlite3_reset(tail);
	sqlite3_bind_text(id, 5, ev->key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(id, 6, now);
	sqlite3_bind_int64(event, 2, next);
	sqlite3_bind_text(event, 3, ev->json, (int)ev->n, SQLITE_STATIC);
	sqlite3_bind_int64(event, 4, now);
	bad = step_done(event) || step_done(id);
	return bad ? -1 : 0;
}

/* Returns 1 if an event with this key exists. */
static int has_key(struct reference *s, const char *key)
{
	int rc;

	if (!key)
		return 0;
	sqlite3_bind_text(s->st[FIND_KEY], 2, key, -1, SQLITE_STATIC);
	rc = sqlite3_step(s->st[FIND_KEY]);
	sqlite3_reset(s->st[FIND_KEY]);
	return rc == SQLITE_ROW;
}

static int append_reference(void *store, const struct store_event *ev, size_t n,
			    struct err *e)
{
	static const int by_session[] = {SESSION, FIND_KEY, NEXT_SEQ,
					 TAIL,    EVENT,    IDENTITY};
	struct reference *s = store;
	int64_t now = clock_now();
	int bad;

	for (size_t i = 0; i < sizeof by_session / sizeof by_session[0]; i++)
		sqlite3_bind_text(s->st[by_session[i]], 1, s->session, -1,
				  SQLITE_STATIC);
	sqlite3_bind_int64(s->st[SESSION], 2, now);
	bad = step_done(s->st[BEGIN]) || step_done(s->st[SESSION]);
	for (size_t i = 0; i < n && !bad; i++)
		if (!has_key(s, ev[i].key))
			bad = insert(s, &ev[i], now);
	if (bad || step_done(s->st[COMMIT])) {
		store_sqlite_fail(s->db, "append", e);
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return 0;
}

static int read_reference(void *store,
			  int (*each)(void *arg, const char *json, size_t n),
			  void *arg, struct err *e)
{
	struct reference *s = store;
	sqlite3_stmt *st = s->st[READ];
	int rc, stop = 0;

	sqlite3_bind_text(st, 1, s->session, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && !stop)
		stop = each(arg, (const char *)sqlite3_column_text(st, 0),
			    (size_t)sqlite3_column_bytes(st, 0));
	sqlite3_reset(st);
	return rc == SQLITE_DONE || stop ? 0
					 : store_sqlite_fail(s->db, "read", e);
}

static int tail_reference(void *store, int n, struct err *e)
{
	struct reference *s = store;
	sqlite3_stmt *st = s->st[READ_TAIL];
	int rc;

	sqlite3_bind_text(st, 1, s->session, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 2, n);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		(void)sqlite3_column_text(st, 0);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : store_sqlite_fail(s->db, "tail", e);
}

static int patch_reference(void *store, const char *json, struct err *e)
{
	struct reference *s = store;
	sqlite3_stmt *st = s->st[PATCH];

	sqlite3_bind_text(st, 1, s->session, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, json, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, clock_now());
	if (!step_done(s->st[BEGIN]) && !step_done(st) &&
	    !step_done(s->st[COMMIT]))
		return 0;
	store_sqlite_fail(s->db, "patch", e);
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

static int tune_reference(void *store, const char *pragmas, struct err *e)
{
	struct reference *s = store;

	return sqlite3_exec(s->db, pragmas, NULL, NULL, NULL)
		       ? store_sqlite_fail(s->db, pragmas, e)
		       : 0;
}

const struct store_kind store_reference = {
	.name = "reference",
	.what = "plain tables, cached statements",
	.open = open_reference,
	.append = append_reference,
	.read = read_reference,
	.tail = tail_reference,
	.patch = patch_reference,
	.tune = tune_reference,
	.close = close_reference,
};
