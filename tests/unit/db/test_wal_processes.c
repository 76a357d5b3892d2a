/*
 * Several processes write to one file at random: transactions of 1 to 400 frames
 * in caches of different sizes, with savepoints, committed or rolled back, with
 * FULL and NORMAL, and checkpoints in all modes, while processes are killed. After
 * each transaction the log is read through another descriptor
 * (tests/support/wal.h). After each round stock sqlite3 checks the file and counts
 * the acknowledged rows.
 *
 * SKEP_WAL_ROUNDS sets the number of rounds (2), SKEP_WAL_SEED the first seed.
 */
#include "tests/support/temp.h"
#include "tests/support/wal.h"

#include "lib/db/checkpoint.h"
#include "lib/db/internal.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITERS    6
#define KILLS      8  /* per round */
#define BETWEEN    20 /* transactions between two kills */
#define ROWS       400
#define HANG_S     120
#define POLL_US    500
#define CACHE_KIB  160  /* spills after about 40 pages */
#define CACHE_MAX  4096 /* never spills */
#define LOG_FRAMES 600

static struct temp dir;
static char path[PATH_MAX];

/* What the processes tell the parent. */
static struct ledger {
	_Atomic int64_t acknowledged[WRITERS]; /* last row of each */
	_Atomic int64_t done;                  /* transactions that ended */
	char wrong[300];
} * ledger;

struct writer {
	int number;
	unsigned seed;
	struct sql *db;
	sqlite3 *other;
	struct wal seen;
	struct err e;
};

static unsigned chance(struct writer *w, unsigned n)
{
	return (unsigned)rand_r(&w->seed) % n;
}

__attribute__((format(printf, 1, 2), noreturn)) static void complain(
	const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ledger->wrong, sizeof ledger->wrong, fmt, ap);
	va_end(ap);
	_exit(1);
}

static void run_sql(struct writer *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void run_sql(struct writer *w, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (sql_script(w->db, text, &w->e))
		complain("%s: %s", text, w->e.text);
}

/* Most transactions are small. A third has about 64 + 63k frames, where a layer
 * that gathers 256 KiB at a time would begin another piece. */
static unsigned some_rows(struct writer *w)
{
	switch (chance(w, 6)) {
	case 0:
	case 1:
		return 58 + 63 * (chance(w, 3) ? 0 : chance(w, 6)) +
		       chance(w, 8);
	case 2:
		return 1 + chance(w, ROWS);
	default:
		return 1 + chance(w, 12);
	}
}

static void change_rows(struct writer *w)
{
	unsigned rows = some_rows(w);

	run_sql(w, "UPDATE x SET v = randomblob(3500) WHERE i <= %u",
		rows < ROWS ? rows : ROWS);
}

static void change_and_roll_back(struct writer *w)
{
	run_sql(w, "SAVEPOINT s");
	change_rows(w);
	run_sql(w, "INSERT INTO never VALUES (%d)", w->number);
	run_sql(w, "ROLLBACK TO s; RELEASE s");
}

static void transact(struct writer *w)
{
	int64_t next = ledger->acknowledged[w->number] + 1;
	bool keep = chance(w, 4) != 0;
	int bad = chance(w, 2) ? sql_enter(w->db, &w->e)
			       : sql_enter_relaxed(w->db, &w->e);

	if (bad)
		complain("begin: %s", w->e.text);
	change_rows(w);
	if (chance(w, 3) == 0)
		change_and_roll_back(w);
	if (chance(w, 3) == 0)
		change_rows(w); /* pages that were spilled change again */
	if (keep)
		run_sql(w, "INSERT OR IGNORE INTO y VALUES (%d, %lld)",
			w->number, (long long)next);
	else
		run_sql(w, "INSERT INTO never VALUES (%d)", w->number);
	if (sql_leave(w->db, keep ? 0 : -1, &w->e) != (keep ? 0 : -1))
		complain("end: %s", w->e.text);
	if (keep)
		ledger->acknowledged[w->number] = next;
}

/* PASSIVE only while no other process can write: see lib/db/checkpoint.c. */
static void checkpoint_passively(struct writer *w)
{
	int rc = sqlite3_exec(w->other, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_wal_checkpoint_v2(w->db->conn, "main",
					       SQLITE_CHECKPOINT_PASSIVE, NULL,
					       NULL);
	if (rc != SQLITE_OK && rc != SQLITE_BUSY)
		complain("passive checkpoint: %s", sqlite3_errstr(rc));
	sqlite3_exec(w->other, "ROLLBACK", NULL, NULL, NULL);
}

static void checkpoint(struct writer *w)
{
	unsigned mode = chance(w, SQL_CHECKPOINT_TRUNCATE + 2);
	struct sql_checkpoint_result r;

	if (mode > SQL_CHECKPOINT_TRUNCATE)
		checkpoint_passively(w);
	else if (sql_checkpoint(w->db, (enum sql_checkpoint)mode,
				(int)chance(w, 2) * 20, &r, &w->e))
		complain("checkpoint: %s", w->e.text);
}

static void open_both(struct writer *w)
{
	if (sql_open(&w->db, path, NULL, 0, &w->e) ||
	    sql_cache(w->db, chance(w, 2) ? CACHE_KIB : CACHE_MAX, &w->e))
		complain("open: %s", w->e.text);
	sql_checkpoint_at(w->db, LOG_FRAMES);
	if (sqlite3_open_v2(path, &w->other, SQLITE_OPEN_READWRITE, "unix"))
		complain("open: %s", sqlite3_errmsg(w->other));
	sqlite3_busy_timeout(w->other, HANG_S * 1000);
	sqlite3_wal_autocheckpoint(w->other, 0);
	sqlite3_exec(w->other, "SELECT count(*) FROM y", NULL, NULL, NULL);
}

static void write_for_ever(int number, unsigned seed)
{
	struct writer w = {.number = number, .seed = seed};

	alarm(HANG_S);
	open_both(&w);
	for (;;) {
		const char *why;

		transact(&w);
		if (chance(&w, 8) == 0)
			checkpoint(&w);
		if (chance(&w, 8) == 0)
			w.seen = (struct wal){0}; /* read it all again */
		why = wal_check(w.other, path, &w.seen);
		if (why)
			complain("the log: %s", why);
		ledger->done++;
		if (chance(&w, 40) == 0) {
			sqlite3_close(w.other);
			sql_close(w.db);
			open_both(&w);
		}
	}
}

static pid_t start_writer(int number, unsigned *seed)
{
	pid_t pid;

	*seed = *seed * 1103515245 + 12345;
	pid = fork();
	if (pid == 0)
		write_for_ever(number, *seed);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void stop_all(const pid_t *pids)
{
	for (int i = 0; i < WRITERS; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < WRITERS; i++)
		waitpid(pids[i], NULL, 0);
	if (ledger->wrong[0])
		fail_msg("%s", ledger->wrong);
}

/* A process that exits without a signal has found something or hung. */
static bool wait_for_transactions(int64_t until)
{
	while (ledger->done < until) {
		siginfo_t gone = {0};

		waitid(P_ALL, 0, &gone, WEXITED | WNOHANG | WNOWAIT);
		if (gone.si_pid)
			return false;
		usleep(POLL_US);
	}
	return true;
}

static void make_database(void)
{
	struct err e;
	struct sql *db;

	snprintf(path, sizeof path, "%s/t.sqlite", dir.path);
	if (sql_open(&db, path, NULL, SQL_CREATE, &e) ||
	    sql_script(
		    db,
		    "CREATE TABLE x(i INTEGER PRIMARY KEY, v BLOB);"
		    "CREATE TABLE y(w INTEGER, n INTEGER, PRIMARY KEY(w, n));"
		    "CREATE TABLE never(w);"
		    "INSERT INTO x WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
		    "SELECT n + 1 FROM c WHERE n < 400) "
		    "SELECT n, zeroblob(3500) FROM c",
		    &e))
		fail_msg("%s", e.text);
	sql_close(db);
}

/* Stock sqlite3, in a process of its own. */
static void ask_sqlite3(const char *question, char *answer, int n)
{
	char line[PATH_MAX + 300];
	FILE *f;

	snprintf(line, sizeof line, "sqlite3 -batch %s \"%s\"", path, question);
	f = popen(line, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(f);
	if (!fgets(answer, n, f))
		answer[0] = '\0';
	pclose(f);
}

static void check_file(void)
{
	char answer[200], question[200];

	ask_sqlite3("PRAGMA integrity_check", answer, sizeof answer);
	assert_string_equal(answer, "ok\n");
	ask_sqlite3("SELECT count(*) FROM never", answer, sizeof answer);
	assert_string_equal(answer, "0\n");
	for (int i = 0; i < WRITERS; i++) {
		long long n = ledger->acknowledged[i];

		snprintf(question, sizeof question,
			 "SELECT count(*) FROM y WHERE w = %d AND n <= %lld", i,
			 n);
		ask_sqlite3(question, answer, sizeof answer);
		if (strtoll(answer, NULL, 10) != n)
			fail_msg("writer %d: %s of %lld acknowledged rows", i,
				 answer, n);
	}
}

static int number_of(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? (int)strtol(text, NULL, 10) : otherwise;
}

static void play_round(unsigned *seed)
{
	pid_t pids[WRITERS];
	bool well = true;

	for (int i = 0; i < WRITERS; i++)
		pids[i] = start_writer(i, seed);
	for (int i = 0; i < KILLS && well; i++) {
		int victim = (int)(*seed >> 16) % WRITERS;

		well = wait_for_transactions(ledger->done + BETWEEN);
		if (well) {
			stop(pids[victim]);
			pids[victim] = start_writer(victim, seed);
		}
	}
	stop_all(pids);
	if (!well)
		fail_msg("a process ended without a finding: it hung");
	check_file();
}

static void what_is_acknowledged_stays_whatever_is_killed(void **state)
{
	int rounds = number_of("SKEP_WAL_ROUNDS", 2);
	unsigned seed = (unsigned)number_of("SKEP_WAL_SEED", 1);

	(void)state;
	make_database();
	for (int round = 0; round < rounds; round++)
		play_round(&seed);
	assert_true(ledger->done >= (int64_t)rounds * KILLS * BETWEEN);
	print_message("%lld transactions\n", (long long)ledger->done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_acknowledged_stays_whatever_is_killed),
	};
	int bad;

	ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ledger == MAP_FAILED)
		return 1;
	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
