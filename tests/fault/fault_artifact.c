/*
 * Replacing an artifact fails, or the process dies, at every write, sync and
 * allocation in turn: afterwards the old bytes are there or the new ones, whole,
 * the file is sound, and doing it again works.
 */
#include "tests/support/agent.h"
#include "tests/support/clock.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/temp.h"

#include "lib/base/clock.h"
#include "schema/agent/artifact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OLD_BYTES 7
#define NEW_BYTES (ARTIFACT_CHUNK + 11) /* a transaction, and the last */

static struct temp dir;
static char old_bytes[OLD_BYTES], new_bytes[NEW_BYTES];

static struct agent_file open_agent(void)
{
	struct agent_file f;

	test_agent_open(&f, temp_join(&dir, "agent.sqlite"));
	return f;
}

static int put_artifact(struct agent_file *f, const char *p, size_t n,
			struct err *e)
{
	struct artifact_key key = artifact_key_run("run_1", "out");

	return artifact_put(f->db, &key, NULL, (struct blob){p, n}, NULL, e);
}

static void put_old(struct agent_file *f)
{
	struct err e = {0};

	if (put_artifact(f, old_bytes, OLD_BYTES, &e))
		fail_msg("%s", e.text);
}

/* 'o', 'n', or a failed test. */
static char which_bytes(struct agent_file *f)
{
	struct artifact_key key = artifact_key_run("run_1", "out");
	struct buf all = BUF_MAX(1 << 20);
	struct artifact_reader *r;
	struct artifact_row row;
	struct arena a = {0};
	struct blob piece;
	struct err e = {0};
	char which = '?';

	assert_int_equal(artifact_find(f->db, &key, &row, &a, &e), 1);
	assert_int_equal(artifact_reader_open(&r, f->db, row.aid, &e), 0);
	while (artifact_read(r, &piece, &e) > 0)
		buf_add(&all, piece.p, piece.n);
	artifact_reader_close(r);
	if (all.n == OLD_BYTES && memcmp(all.p, old_bytes, OLD_BYTES) == 0)
		which = 'o';
	if (all.n == NEW_BYTES && memcmp(all.p, new_bytes, NEW_BYTES) == 0)
		which = 'n';
	assert_int_not_equal(which, '?');
	buf_fini(&all);
	arena_fini(&a);
	return which;
}

/* After gc, nothing is left but the chunk, or the two, of what is there. */
static void check_all(struct agent_file *f)
{
	char which = which_bytes(f);
	struct err e = {0};

	test_integrity(f);
	test_clock_set(clock_now() + 2 * ARTIFACT_PENDING_MS);
	if (artifact_gc(f->db, 0, 1000, &e) < 0)
		fail_msg("%s", e.text);
	test_clock_set(-1);
	assert_int_equal(test_number(f, "SELECT count(*) FROM artifact_chunk"),
			 which == 'o' ? 1 : 2);
	assert_int_equal(
		test_number(f, "SELECT count(*) FROM artifact_content"), 1);
	assert_int_equal(which_bytes(f), which);
}

/* Returns whether the fault fired. */
static bool fail_at(int nth, enum fault_kind kind)
{
	struct agent_file f = open_agent();
	struct err e = {0};
	bool fired;
	int rc;

	put_old(&f);
	fault_arm(nth, kind);
	rc = put_artifact(&f, new_bytes, NEW_BYTES, &e);
	fired = fault_fired();
	fault_disarm();
	if (rc == 0)
		assert_int_equal(which_bytes(&f), 'n');
	else
		assert_true(fired && e.text[0]);
	agent_file_close(&f);

	f = open_agent();
	check_all(&f);
	if (put_artifact(&f, new_bytes, NEW_BYTES, &e))
		fail_msg("%s", e.text);
	assert_int_equal(which_bytes(&f), 'n');
	agent_file_close(&f);
	return fired;
}

static int fail_everywhere(enum fault_kind kind)
{
	struct agent_file other =
		open_agent(); /* so that a close syncs nothing */
	int n = 1;

	while (fail_at(n, kind))
		n++;
	agent_file_close(&other);
	return n - 1;
}

static void a_failed_write_leaves_all_or_nothing(void **state)
{
	(void)state;
	assert_in_range(fail_everywhere(FAULT_IOERR), 3, 10000);
	assert_in_range(fail_everywhere(FAULT_FULL), 3, 10000);
	assert_in_range(fail_everywhere(FAULT_SHORT), 3, 10000);
}

static void a_failed_allocation_leaves_all_or_nothing(void **state)
{
	(void)state;
	assert_in_range(fail_everywhere(FAULT_NOMEM), 20, 100000);
}

/* In a child, since it dies there. */
static bool die_at(int nth)
{
	struct agent_file f = open_agent();
	int status;
	pid_t pid;

	put_old(&f);
	agent_file_close(&f);
	pid = fork();
	if (pid == 0) {
		struct err e;

		f = open_agent();
		fault_arm(nth, FAULT_DIE);
		put_artifact(&f, new_bytes, NEW_BYTES, &e);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	f = open_agent();
	if (WEXITSTATUS(status) == 0)
		assert_int_equal(which_bytes(&f), 'n');
	check_all(&f);
	agent_file_close(&f);
	return WEXITSTATUS(status) == FAULT_DIED;
}

static void a_death_at_any_write_leaves_all_or_nothing(void **state)
{
	int n = 1;

	(void)state;
	while (die_at(n))
		n++;
	assert_in_range(n, 3, 10000);
}

static int set_up_artifact(void **state)
{
	(void)state;
	temp_make(&dir);
	return 0;
}

static int tear_down_artifact(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_failed_write_leaves_all_or_nothing, set_up_artifact,
			tear_down_artifact),
		cmocka_unit_test_setup_teardown(
			a_failed_allocation_leaves_all_or_nothing,
			set_up_artifact, tear_down_artifact),
		cmocka_unit_test_setup_teardown(
			a_death_at_any_write_leaves_all_or_nothing,
			set_up_artifact, tear_down_artifact),
	};

	memset(old_bytes, 'o', sizeof old_bytes);
	for (size_t i = 0; i < sizeof new_bytes; i++)
		new_bytes[i] = (char)(i * 7 % 251);
	fault_malloc_install();
	fault_vfs_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
