/* Transactions of a connection. */
#include "lib/db/internal.h"

#include "lib/base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CHECK_NS 100000000 /* interval between checks in such commits */

static int step_once(struct sql *db, sqlite3_stmt *st, const char *what,
		     struct err *e)
{
	int rc = sqlite3_step(st);
	int bad = sql_failed(rc) ? sql_fail(db, rc, what, e) : 0;

	sqlite3_reset(st);
	return bad;
}

/* SQLite counts the commits that it has noticed, including our own; a
 * connection notices those of others only when a transaction begins. So between
 * the end of our last transaction and the begin of the next, only others change
 * the number. */
static uint32_t commits_noticed(struct sql *db)
{
	uint32_t v = 0;

	sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_DATA_VERSION, &v);
	return v;
}

/*
 * The caller is at the head of the queue, so only one process at a time polls
 * for the lock; it can do so often. (SQLite's own waiting sleeps up to 100 ms,
 * and sqlite3_interrupt does not end it.)
 */
static int wait_for_lock(void *arg, int count)
{
	struct sql *db = arg;
	unsigned us = count < 20 ? 50 : count < 200 ? 200 : 1000;

	if (count == 0)
		db->lock_until = clock_mono_ns() +
				 (int64_t)db->queue.wait_ms * 1000000;
	if (write_queue_stopped(&db->queue) ||
	    clock_mono_ns() >= db->lock_until)
		return 0;
	usleep(us);
	return 1;
}

int sql_begin(struct sql *db, struct err *e)
{
	int bad;

	sqlite3_busy_handler(db->conn, wait_for_lock, db);
	bad = step_once(db, db->begin, "begin", e);
	sqlite3_busy_timeout(db->conn, WRITE_QUEUE_WAIT_MS);
	if (bad && e->code == ERR_BUSY && write_queue_stopped(&db->queue))
		return err_set(e, ERR_CANCELED,
			       "%s: interrupted while waiting for the write "
			       "lock",
			       db->path);
	return bad;
}

static struct sql_lock_time clocks(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (struct sql_lock_time){clock_mono_ns(),
				      t.tv_sec * 1000000000 + t.tv_nsec};
}

void sql_watch(struct sql *db)
{
	db->watched = true;
	db->held = (struct sql_lock_time){0};
}

struct sql_lock_time sql_longest(const struct sql *db)
{
	return db->held;
}

static void note_lock_time(struct sql *db)
{
	struct sql_lock_time now = clocks();

	now.ns -= db->began.ns;
	now.cpu_ns -= db->began.cpu_ns;
	if (now.ns > db->held.ns)
		db->held.ns = now.ns;
	if (now.cpu_ns > db->held.cpu_ns)
		db->held.cpu_ns = now.cpu_ns;
}

/*
 * A commit that waits for the disk leaves the queue as soon as it has SQLite's
 * write lock. The next writer then waits for that lock, and we queue behind it
 * if we write again. Otherwise the last writer would always be back before the
 * next one has woken up. A commit that does not wait for the disk stays in the
 * queue, since passing it on costs more than the commit. So does a commit that
 * finds a long log: it is followed by a checkpoint, which needs the queue.
 */
static int begin_queued(struct sql *db, bool full, struct err *e)
{
	if (db->depth > 0) {
		assert(db->writing && "no write inside sql_enter_read");
		db->depth++;
		return 0;
	}
	if (db->readonly && sql_place_refuses(db->path, e))
		return -1;
	if (sql_set_full(db, full, e))
		return -1;
	if (write_queue_enter(&db->queue, db->path, e))
		return -1;
	if (sql_begin(db, e)) {
		write_queue_leave(&db->queue);
		return -1;
	}
	db->was_queued = true;
	db->stays_queued_ = !db->full || log_is_long(db);
	if (!db->stays_queued_)
		write_queue_leave(&db->queue);
	if (db->watched)
		db->began = clocks();
	db->depth = 1;
	db->doomed = false;
	db->writing = true;
	if (commits_noticed(db) != db->noticed)
		db->generation++;
	return 0;
}

int sql_enter(struct sql *db, struct err *e)
{
	return begin_queued(db, !db->deferred, e);
}

int sql_enter_relaxed(struct sql *db, struct err *e)
{
	return begin_queued(db, db->always_full, e);
}

static int begin_read(struct sql *db, struct err *e)
{
	if (!db->begin_read)
		sqlite3_prepare_v3(db->conn, "BEGIN", -1,
				   SQLITE_PREPARE_PERSISTENT, &db->begin_read,
				   NULL);
	if (!db->begin_read)
		return sql_fail(db, sqlite3_errcode(db->conn), "begin", e);
	return step_once(db, db->begin_read, "begin", e);
}

int sql_enter_read(struct sql *db, struct err *e)
{
	if (db->depth == 0 && begin_read(db, e))
		return -1;
	if (db->depth++ == 0) {
		db->doomed = false;
		db->writing = false;
	}
	return 0;
}

static void roll_back(struct sql *db)
{
	if (!sqlite3_get_autocommit(db->conn))
		sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
}

/* A commit that does not wait for the disk is not acknowledged before sql_sync
 * or a commit that does. The check costs 4 µs, a tenth of an append. */
static bool must_check_place(struct sql *db)
{
	int64_t now;

	if (db->full)
		return true;
	now = clock_mono_ns();
	if (db->place_checked && now - db->place_checked < CHECK_NS)
		return false;
	db->place_checked = now;
	return true;
}

/* Nothing is committed to a file that has lost its name: it would be lost with
 * the last process that has it open. */
int sql_commit(struct sql *db, struct err *e)
{
	if (must_check_place(db) && sql_in_place(db, e))
		return -1;
	return step_once(db, db->commit, "commit", e);
}

static int commit(struct sql *db, struct err *e)
{
	return db->writing ? sql_commit(db, e)
			   : step_once(db, db->commit, "commit", e);
}

static void end_writing(struct sql *db)
{
	db->commits += !db->doomed;
	if (db->stays_queued_)
		log_after_commit(db);
	db->noticed = commits_noticed(db);
	if (db->watched)
		note_lock_time(db);
	if (db->stays_queued_)
		write_queue_leave(&db->queue);
	db->was_queued = db->stays_queued_ = false;
}

int sql_leave(struct sql *db, int rc, struct err *e)
{
	bool bad = rc < 0;

	assert(db->depth > 0);
	db->doomed = db->doomed || bad;
	if (--db->depth > 0)
		return rc;
	if (!db->doomed && commit(db, e)) {
		db->doomed = true;
		bad = true;
	} else if (db->doomed && !bad) {
		/* an inner failure that the caller ignored */
		err_set(e, ERR_INTERNAL,
			"%s: transaction continued after an error", db->path);
		bad = true;
	}
	if (db->doomed)
		roll_back(db);
	if (db->writing)
		end_writing(db);
	return bad ? -1 : rc;
}

bool sql_in_transaction(const struct sql *db)
{
	return db->depth > 0;
}

bool sql_is_writing(const struct sql *db)
{
	return db->depth > 0 && db->writing;
}

int64_t sql_steps(struct sql *db)
{
	int64_t steps = 0;

	for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(db->conn, st));)
		steps += (uint32_t)sqlite3_stmt_status(
			st, SQLITE_STMTSTATUS_VM_STEP, 1);
	return steps;
}

int64_t sql_pages(struct sql *db)
{
	static const int moved[] = {SQLITE_DBSTATUS_CACHE_MISS,
				    SQLITE_DBSTATUS_CACHE_WRITE};
	int64_t pages = 0;

	for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++) {
		int now = 0, most;

		sqlite3_db_status(db->conn, moved[i], &now, &most, 1);
		pages += (uint32_t)now;
	}
	return pages;
}

int sql_cache(struct sql *db, int kib, struct err *e)
{
	char text[64];

	snprintf(text, sizeof text, "PRAGMA cache_size=-%d", kib);
	return sql_run(db, text, e);
}
