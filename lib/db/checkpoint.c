/*
 * Checkpoints: when the log is copied into the file, and why that is safe.
 *
 * SQLite 3.7.0 to 3.51.2 has a race (its "WAL-reset bug"). A checkpoint that
 * does not hold the write lock reads how long the log is; if all of that has
 * been copied before, a writer may reset the log now; the checkpoint then takes
 * its old length for that of the new log, and marks frames as copied that were
 * not. A PASSIVE checkpoint never holds the write lock, which includes SQLite's
 * automatic ones. The other modes wait for it, but fall back to PASSIVE when
 * the wait fails.
 *
 * So every checkpoint of skep is one of the other modes and runs
 * - first in the write queue (lib/db/write_queue.h), where no other process of skep can begin
 *   to write,
 * - after a transaction of this connection that began in the queue. A writer
 *   that left the queue with the write lock has finished by then, so no process
 *   of skep can make SQLite fall back,
 * - while the log has a frame that was not copied: the one that this transaction
 *   wrote. No writer can reset such a log, so another program that takes the
 *   write lock at that moment, and makes SQLite fall back, does no harm.
 *
 * The checkpoint of the last connection that closes is safe as well: SQLite
 * does it with an exclusive lock on the file, and no connection can have read
 * anything by then. We do it in the queue, or not at all.
 */
#include "lib/db/checkpoint.h"

#include "lib/base/clock.h"
#include "lib/db/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_MS 25

/* --- automatic ------------------------------------------------------------- */

/* Called by SQLite after each commit. */
static int note_log(void *arg, sqlite3 *conn, const char *name, int frames)
{
	struct sql *db = arg;

	(void)conn;
	assert(db->was_queued && "all writes go through the queue");
	if (strcmp(name, "main") != 0)
		return SQLITE_OK;
	if (frames < db->log_frames) /* it was reset */
		db->checkpoint_at = db->log_limit;
	db->log_frames = frames;
	db->log_grew = true;
	return SQLITE_OK;
}

void sql_checkpoint_at(struct sql *db, int frames)
{
	db->log_limit = db->checkpoint_at = frames;
}

int sql_log_frames(const struct sql *db)
{
	return db->log_frames;
}

void log_watch(struct sql *db)
{
	sql_checkpoint_at(db, SQL_LOG_FRAMES);
	sqlite3_wal_hook(db->conn, note_log, db);
}

bool log_is_long(const struct sql *db)
{
	return db->log_frames >= db->checkpoint_at;
}

/* Does not wait for readers, because the caller keeps writers out. The next
 * checkpoint is due when the log is a quarter longer. */
static int copy_frames(struct sql *db, enum sql_checkpoint mode,
		       struct sql_checkpoint_result *out)
{
	static const int modes[] = {
		[SQL_CHECKPOINT_FULL] = SQLITE_CHECKPOINT_FULL,
		[SQL_CHECKPOINT_RESTART] = SQLITE_CHECKPOINT_RESTART,
		[SQL_CHECKPOINT_TRUNCATE] = SQLITE_CHECKPOINT_TRUNCATE,
	};
	int rc;

	sqlite3_busy_handler(db->conn, NULL, NULL);
	rc = sqlite3_wal_checkpoint_v2(db->conn, "main", modes[mode],
				       &out->log_frames, &out->checkpointed);
	sqlite3_busy_timeout(db->conn, WRITE_QUEUE_WAIT_MS);
	db->log_grew = false;
	db->checkpoint_at = db->log_frames + db->log_limit / 4 + 1;
	out->busy = (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
	return rc;
}

/* Only after a commit that wrote frames. A failure is ignored: the commit is
 * done, and a later commit tries again. */
void log_after_commit(struct sql *db)
{
	struct sql_checkpoint_result r;

	if (db->log_grew && log_is_long(db))
		(void)copy_frames(db, SQL_CHECKPOINT_FULL, &r);
}

/* --- on demand ------------------------------------------------------------- */

/* Waits for the current writer and leaves an uncopied frame in the log: page 1,
 * unchanged. */
static int commit_something(struct sql *db, struct err *e)
{
	int64_t version = 0;
	char set[64];
	int rc;

	if (sql_begin(db, e))
		return -1;
	rc = sql_script_i64(db, "PRAGMA user_version", &version, e);
	snprintf(set, sizeof set, "PRAGMA user_version=%" PRId64, version);
	if (!rc && sql_run(db, set, e) == 0 && sql_commit(db, e) == 0)
		return 0;
	if (!sqlite3_get_autocommit(db->conn))
		sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

/* On a full disk nothing can be committed, and a checkpoint may free space. */
static int copy_queued(struct sql *db, enum sql_checkpoint mode,
		       struct sql_checkpoint_result *out, struct err *e)
{
	int rc;

	if (commit_something(db, e) && e->code != ERR_FULL)
		return -1;
	rc = copy_frames(db, mode, out);
	return rc == SQLITE_OK || out->busy ? 0
					    : sql_fail(db, rc, "checkpoint", e);
}

static int try_once(struct sql *db, enum sql_checkpoint mode,
		    struct sql_checkpoint_result *out, struct err *e)
{
	int rc;

	if (write_queue_enter(&db->queue, db->path, e))
		return -1;
	db->was_queued = true;
	rc = copy_queued(db, mode, out, e);
	db->was_queued = false;
	write_queue_leave(&db->queue);
	return rc;
}

int sql_checkpoint(struct sql *db, enum sql_checkpoint mode, int wait_ms,
		   struct sql_checkpoint_result *out, struct err *e)
{
	int64_t end = clock_mono_ns() + wait_ms * INT64_C(1000000);
	int usual = db->queue.wait_ms, rc;

	assert(db->depth == 0);
	for (;;) {
		*out = (struct sql_checkpoint_result){0};
		db->queue.wait_ms = wait_ms < PAUSE_MS ? PAUSE_MS : wait_ms;
		rc = try_once(db, mode, out, e);
		db->queue.wait_ms = usual;
		if (rc && e->code == ERR_BUSY) {
			out->busy = true;
			rc = 0;
		}
		if (rc || !out->busy || clock_mono_ns() >= end)
			return rc;
		usleep(PAUSE_MS * 1000);
	}
}

/* Without a commit of its own, because none is possible now. For the same
 * reason, no writer can reset the log meanwhile. */
int sql_save_log(struct sql *db, struct err *e)
{
	struct sql_checkpoint_result r = {0};
	int rc;

	assert(db->depth == 0);
	if (write_queue_enter(&db->queue, db->path, e))
		return -1;
	rc = copy_frames(db, SQL_CHECKPOINT_FULL, &r);
	write_queue_leave(&db->queue);
	return rc == SQLITE_OK ? 0 : sql_fail(db, rc, "checkpoint", e);
}

/* --- closing --------------------------------------------------------------- */

void log_keep(struct sql *db)
{
	sqlite3_db_config(db->conn, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static bool is_within(const struct sql *db, int64_t bytes)
{
	struct stat st;
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s-wal", db->path);
	return stat(path, &st) == 0 && st.st_size <= bytes;
}

void sql_keep_wal(struct sql *db, int64_t bytes)
{
	if (is_within(db, bytes))
		log_keep(db);
}

bool sql_can_stay_open(struct sql *db, int64_t bytes)
{
	return db->depth == 0 && !log_is_long(db) && !sql_lost(db) &&
	       is_within(db, bytes);
}

/* If another process is in the queue, it has the file open and keeps its log. */
void log_before_close(struct sql *db)
{
	struct sql_checkpoint_result ignored;
	const char *lost = db->conn ? sql_lost(db) : NULL;
	struct err e;

	if (!db->conn)
		return;
	if (db->depth == 0 && !db->readonly && lost && !strcmp(lost, "-wal"))
		(void)sql_save_log(db, &e);
	else if (db->depth == 0 && log_is_long(db))
		(void)sql_checkpoint(db, SQL_CHECKPOINT_FULL, 0, &ignored, &e);
	if (!db->stays_queued_ && !write_queue_try(&db->queue))
		log_keep(db);
}

/* --- the library ------------------------------------------------------------ */

const char *sql_library(void)
{
	return sqlite3_libversion();
}

/* Fixed in 3.51.3, and in 3.50.7 and 3.44.6 of the older branches. */
bool sql_library_resets_unsafely(void)
{
	int v = sqlite3_libversion_number();

	return v >= 3007000 && v < 3051003 && !(v >= 3050007 && v < 3051000) &&
	       !(v >= 3044006 && v < 3045000);
}
