#include "tests/support/temp.h"

#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "lib/db/sql.h"
#include "lib/os/file.h"
#include "schema/agent_queries.h"
#include "schema/control_queries.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;

static struct sql *open_control(void)
{
	struct sql *db = NULL;
	struct err e = {0};

	if (db_open(&db, temp_join(&dir, "c.sqlite"), &control_schema,
		    SQL_CREATE | SQL_FULL, &e))
		fail_msg("%s", e.text);
	return db;
}

static int put_kv(struct sql *db, const char *key, const char *value,
		  struct err *e)
{
	return sql_exec(db, Q_KV_PUT,
			&(struct kv_put_in){.scope = "t",
					    .key = key,
					    .value = value,
					    .expires_at = OPT_NONE,
					    .now = 1},
			e);
}

static int has_kv(struct sql *db, const char *key)
{
	struct kv_get_row row;
	struct arena a = {0};
	struct err e;
	int n = sql_get(db, Q_KV_GET,
			&(struct kv_get_in){.scope = "t", .key = key, .now = 1},
			&row, &a, &e);

	arena_fini(&a);
	return n;
}

static void every_query_fits_its_schema(void **state)
{
	static const struct {
		const char *name;
		const struct db_schema *schema;
	} both[] = {{"control", &control_schema}, {"agent", &agent_schema}};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sql *db;

		if (db_open(&db, temp_join(&dir, both[i].name), both[i].schema,
			    SQL_CREATE, &e) ||
		    sql_check(db, &e))
			fail_msg("%s", e.text);
		sql_close(db);
	}
}

static void files_are_private_whatever_the_umask(void **state)
{
	static const char *const names[] = {"c.sqlite", "c.sqlite-wal",
					    "c.sqlite-shm"};
	mode_t was = umask(0);
	struct sql *db = open_control();
	struct err e;

	(void)state;
	umask(was);
	assert_int_equal(put_kv(db, "a", "1", &e), 1);
	for (size_t i = 0; i < 3; i++) {
		struct stat st;

		assert_int_equal(stat(temp_join(&dir, names[i]), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	sql_close(db);
}

static void opening_a_finished_file_writes_nothing(void **state)
{
	struct sql *db = open_control();
	struct stat st;

	(void)state;
	sql_close(db);
	db = open_control();
	assert_int_equal(stat(temp_join(&dir, "c.sqlite-wal"), &st), 0);
	assert_int_equal(st.st_size, 0);
	sql_close(db);
}

static void what_fails_inside_undoes_the_whole(void **state)
{
	struct sql *db = open_control();
	struct err e = {0};

	(void)state;
	assert_int_equal(sql_enter(db, &e), 0);
	assert_int_equal(put_kv(db, "outer", "1", &e), 1);
	assert_int_equal(sql_enter(db, &e), 0);
	assert_int_equal(put_kv(db, "inner", NULL, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_int_equal(sql_leave(db, -1, &e), -1);
	assert_int_equal(sql_leave(db, 0, &e), -1);
	assert_int_equal(has_kv(db, "outer"), 0);
	assert_false(sql_in_transaction(db));
	sql_close(db);
}

static uint32_t generation_after_begin(struct sql *db)
{
	struct err e;
	uint32_t now;

	assert_int_equal(sql_enter(db, &e), 0);
	now = sql_generation(db);
	assert_int_equal(sql_leave(db, 0, &e), 0);
	return now;
}

static void generation_moves_with_others_commits_only(void **state)
{
	struct sql *one = open_control(), *two = open_control();
	uint32_t before = generation_after_begin(one);
	struct err e;

	(void)state;
	assert_int_equal(sql_enter(one, &e), 0);
	assert_int_equal(put_kv(one, "mine", "1", &e), 1);
	assert_int_equal(sql_leave(one, 0, &e), 0);
	assert_int_equal(generation_after_begin(one), before);
	assert_int_equal(put_kv(two, "theirs", "1", &e), 1);
	assert_int_not_equal(generation_after_begin(one), before);
	sql_close(one);
	sql_close(two);
}

static void a_file_that_is_no_database_is_named(void **state)
{
	const char *path = temp_join(&dir, "text");
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	struct sql *db;
	struct err e = {0};

	(void)state;
	assert_int_equal(write(fd, "hello\n", 6), 6);
	close(fd);
	assert_int_equal(db_open(&db, path, &control_schema, SQL_CREATE, &e),
			 -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_non_null(strstr(e.text, path));
}

static int64_t query_number(struct sql *db, const char *query)
{
	struct err e = {0};
	int64_t v = -1;

	if (sql_script_i64(db, query, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static void every_connection_has_the_pragmas(void **state)
{
	struct sql *db = open_control();
	struct arena a = {0};
	const char *mode;
	struct err e;

	(void)state;
	assert_int_equal(
		sql_script_text(db, "PRAGMA journal_mode", &a, &mode, &e), 0);
	assert_string_equal(mode, "wal");
	assert_int_equal(query_number(db, "PRAGMA foreign_keys"), 1);
	assert_int_equal(query_number(db, "PRAGMA secure_delete"), 0);
	assert_int_equal(query_number(db, "PRAGMA busy_timeout"), 30000);
	assert_int_equal(query_number(db, "PRAGMA synchronous"), 2); /* FULL */
	assert_int_equal(query_number(db, "PRAGMA wal_autocheckpoint"), 0);
	assert_int_equal(query_number(db, "PRAGMA temp_store"), 2); /* MEMORY */
	assert_true(query_number(db, "PRAGMA cache_spill") > 0);
	arena_fini(&a);
	sql_close(db);
}

static void *interrupt_soon(void *arg)
{
	usleep(50000);
	sql_interrupt(arg);
	return NULL;
}

static void an_interrupt_ends_a_long_query(void **state)
{
	struct sql *db = open_control();
	pthread_t thread;
	struct err e;
	int64_t v;

	(void)state;
	pthread_create(&thread, NULL, interrupt_soon, db);
	assert_int_equal(sql_script_i64(db,
					"WITH RECURSIVE n(i) AS (SELECT 1 UNION"
					" ALL SELECT i + 1 FROM n) SELECT "
					"count(*) FROM n",
					&v, &e),
			 -1);
	assert_int_equal(e.code, ERR_CANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(query_number(db, "SELECT 7"), 7);
	sql_close(db);
}

/* Forked before there is a connection: SQLite's do not survive a fork. */
static void an_open_transaction_makes_others_wait_not_fail(void **state)
{
	struct sql *one;
	struct err e;
	int begun[2], status;
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(begun), 0);
	pid = fork();
	if (pid == 0) {
		struct sql *two;
		int bad;

		close(begun[1]); /* so that we end if our parent does */
		bad = read(begun[0], &c, 1) != 1;

		two = open_control();
		bad = bad || sql_enter(two, &e) ||
		      sql_leave(two, put_kv(two, "second", "1", &e), &e) < 0;
		_exit(bad ? 1 : 0);
	}
	one = open_control();
	assert_int_equal(sql_enter(one, &e), 0);
	assert_int_equal(put_kv(one, "first", "1", &e), 1);
	assert_int_equal(write(begun[1], "x", 1), 1);
	usleep(200000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(sql_leave(one, 0, &e), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(has_kv(one, "first"), 1);
	assert_int_equal(has_kv(one, "second"), 1);
	sql_close(one);
}

/* Of all processes, and of one: how many commits of others came between its
 * asking and its turn. Counts, not times: the machine's load does not matter. */
struct shares {
	_Atomic int64_t total;
	int64_t turns[4], overtaken[4];
};

#define FAIR_COMMITS 400

static _Noreturn void commit_in_turn(struct shares *s, int i)
{
	struct sql *db = open_control(); /* FULL */
	struct err e = {0};

	while (s->total < FAIR_COMMITS) {
		int64_t asked = s->total;

		if (sql_enter(db, &e))
			_exit(1);
		s->overtaken[i] += s->total - asked;
		s->turns[i]++;
		usleep(1000); /* a slow disk */
		if (sql_leave(db, put_kv(db, "fair", "x", &e), &e) < 0)
			_exit(1);
		s->total++;
	}
	sql_close(db);
	_exit(0);
}

static void slow_commits_are_shared_out_fairly(void **state)
{
	struct shares *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			commit_in_turn(s, i);
	for (int i = 0; i < 4; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 4; i++) {
		printf("%ld turns, %ld overtaken\n", (long)s->turns[i],
		       (long)s->overtaken[i]);
		/* In a fair line three others stand before it. */
		assert_true(s->turns[i] > 0);
		assert_true(s->overtaken[i] <= 12 * s->turns[i]);
	}
	munmap(s, sizeof *s);
}

static void a_wait_for_a_lock_of_others_can_be_interrupted(void **state)
{
	struct sql *stranger, *db;
	pthread_t thread;
	struct err e;

	(void)state;
	/* one that does not stand in line, as the sqlite3 shell */
	stranger = open_control();
	db = open_control();
	assert_int_equal(sql_script(stranger, "BEGIN IMMEDIATE", &e), 0);
	pthread_create(&thread, NULL, interrupt_soon, db);
	assert_int_equal(sql_enter(db, &e), -1);
	assert_int_equal(e.code, ERR_CANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(sql_script(stranger, "COMMIT", &e), 0);
	assert_int_equal(sql_enter(db, &e), 0);
	assert_int_equal(sql_leave(db, 0, &e), 0);
	sql_close(db);
	sql_close(stranger);
}

static void a_checkpoint_empties_the_log(void **state)
{
	struct sql *db = open_control();
	struct sql_checkpoint_result r;
	struct err e;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(put_kv(db, "again", "value", &e), 1);
	assert_int_equal(sql_checkpoint(db, SQL_CHECKPOINT_TRUNCATE, 0, &r, &e),
			 0);
	assert_false(r.busy);
	assert_int_equal(file_size(temp_join(&dir, "c.sqlite-wal")), 0);
	sql_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_query_fits_its_schema),
		cmocka_unit_test(files_are_private_whatever_the_umask),
		cmocka_unit_test(opening_a_finished_file_writes_nothing),
		cmocka_unit_test(what_fails_inside_undoes_the_whole),
		cmocka_unit_test(generation_moves_with_others_commits_only),
		cmocka_unit_test(a_file_that_is_no_database_is_named),
		cmocka_unit_test(every_connection_has_the_pragmas),
		cmocka_unit_test(an_interrupt_ends_a_long_query),
		cmocka_unit_test(
			an_open_transaction_makes_others_wait_not_fail),
		cmocka_unit_test(slow_commits_are_shared_out_fairly),
		cmocka_unit_test(
			a_wait_for_a_lock_of_others_can_be_interrupted),
		cmocka_unit_test(a_checkpoint_empties_the_log),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
