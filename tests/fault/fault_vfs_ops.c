/*
 * Every kind of change fails, or the process dies, at each write in turn. Then
 * the tree is what it was or what it should become, nothing in between, fsck
 * finds no fault, and doing it again works.
 */
#include "tests/support/fault_vfs.h"
#include "tests/support/vfs_changes.h"

#include "lib/db/sql.h"
#include "vfs/check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITES_MAX 500 /* no change of the test has so many */
#define EACH_PLACE 16  /* so many writes of a change fail in turn */

/* What is there at first, and what the change leads to when nothing fails. */
struct wanted {
	char *before, *after;
};

static struct wanted wanted(const struct vfs_case *c)
{
	struct wanted w;
	struct vfs_test t;
	struct err e;

	vfs_case_begin(&t);
	w.before = vfs_case_picture(&t);
	vfs_test_end(&t);
	vfs_case_begin(&t);
	if (c->run(&t, &e))
		fail_msg("%s: %s", c->name, e.text);
	w.after = vfs_case_picture(&t);
	vfs_test_end(&t);
	return w;
}

static void wanted_fini(struct wanted *w)
{
	free(w->before);
	free(w->after);
}

static void reopen(struct vfs_test *t)
{
	struct err e;

	vfs_close(t->v);
	sql_close(t->db);
	t->db = vfs_test_connect(t);
	if (vfs_open(&t->v, t->db, "main", "test", &e))
		fail_msg("%s", e.text);
}

/* Whether it is as it was at first; else it must be what was wanted. */
static bool is_before(struct vfs_test *t, const struct wanted *w,
		      const char *name)
{
	char *now = vfs_case_picture(t);
	bool before = strcmp(now, w->before) == 0;

	if (!before && strcmp(now, w->after) != 0)
		fail_msg("%s: neither old nor new:\n%s", name, now);
	free(now);
	return before;
}

/* Nothing stands in the way of a second try. vfs_test_end checks the last
 * state, so only one before it is checked here. */
static void finish_case(struct vfs_test *t, const struct vfs_case *c,
			const struct wanted *w)
{
	struct vfs_check check = {.deep = true};
	struct err e;

	if (!is_before(t, w, c->name))
		return;
	assert_int_equal(vfs_check(t->db, &check, &e), 0);
	assert_int_equal(check.found, 0);
	if (c->run(t, &e) && strcmp(w->before, w->after) != 0)
		fail_msg("%s, once more: %s", c->name, e.text);
	if (is_before(t, w, c->name))
		assert_string_equal(w->before, w->after);
}

/* In a process of its own where it may die. */
static bool run_once(struct vfs_test *t, const struct vfs_case *c, int nth,
		     enum fault_kind kind)
{
	struct err e;
	bool fired;
	int status;
	pid_t pid;

	if (kind != FAULT_DIE) {
		fault_arm(nth, kind);
		(void)c->run(t, &e);
		fired = fault_fired();
		fault_disarm();
		return fired;
	}
	vfs_close(t->v);
	sql_close(t->db);
	t->v = NULL;
	t->db = NULL;
	pid = fork();
	if (pid == 0) {
		t->db = vfs_test_connect(t);
		if (vfs_open(&t->v, t->db, "main", "test", &e))
			_exit(1);
		fault_arm(nth, kind);
		_exit(c->run(t, &e) ? 2 : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == FAULT_DIED;
}

/* The place after the nth. The first places each; then every third, and each
 * kind of fault begins with another one, so that together they fail at all. */
static int next_place(int nth, enum fault_kind kind)
{
	int phase = kind == FAULT_IOERR ? 0 : kind == FAULT_FULL ? 1 : 2;

	if (nth < EACH_PLACE || getenv("SKEP_TEST_BIG"))
		return nth + 1;
	return nth == EACH_PLACE ? nth + 1 + phase : nth + 3;
}

static void fail_everywhere(enum fault_kind kind)
{
	for (size_t i = 0; i < vfs_cases_n; i++) {
		const struct vfs_case *c = &vfs_cases[i];
		struct wanted w = wanted(c);
		int nth = 0;
		bool fired = true;

		while (fired) {
			struct vfs_test t;

			nth = next_place(nth, kind);
			assert_true(nth < WRITES_MAX);
			vfs_case_begin(&t);
			fired = run_once(&t, c, nth, kind);
			reopen(&t);
			finish_case(&t, c, &w);
			vfs_test_end(&t);
		}
		assert_true(nth > 1); /* it has written something */
		wanted_fini(&w);
	}
}

static void a_write_that_fails_leaves_old_or_new(void **state)
{
	(void)state;
	fail_everywhere(FAULT_IOERR);
}

static void a_full_disk_leaves_old_or_new(void **state)
{
	(void)state;
	fail_everywhere(FAULT_FULL);
}

static void dying_at_any_write_leaves_old_or_new(void **state)
{
	(void)state;
	fail_everywhere(FAULT_DIE);
}

/* Room for so much more in each namespace: bytes, or files. */
static void give_room(struct vfs_test *t, int64_t bytes, int64_t files)
{
	static const char *const names[] = {"main", "twin", "scratch"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct vfs_usage u;
		struct vfs *v;
		struct err e;

		if (vfs_open(&v, t->db, names[i], "test", &e))
			continue; /* it is gone, as it should */
		assert_int_equal(vfs_set_quota(v, 1 << 30, 0, &e), 0);
		assert_int_equal(vfs_usage(v, &u, &e), 0);
		assert_int_equal(
			vfs_set_quota(v, bytes < 0 ? 0 : u.bytes + bytes,
				      files < 0 ? 0 : u.files + files, &e),
			0);
		vfs_close(v);
	}
}

static void with_room(const struct vfs_case *c, int64_t bytes, int64_t files,
		      const struct wanted *w)
{
	struct vfs_test t;
	struct err e;

	vfs_case_begin(&t);
	give_room(&t, bytes, files);
	if (c->run(&t, &e) && e.code != ERR_QUOTA)
		fail_msg("%s: %s", c->name, e.text);
	(void)is_before(&t, w, c->name);
	give_room(&t, -1, -1);
	finish_case(&t, c, w);
	vfs_test_end(&t);
}

static void a_full_quota_leaves_old_or_new(void **state)
{
	static const int64_t rooms[] = {0, 1, 3, 1000, 65536, 70000, 150000};

	(void)state;
	for (size_t i = 0; i < vfs_cases_n; i++) {
		const struct vfs_case *c = &vfs_cases[i];
		struct wanted w = wanted(c);

		for (size_t k = 0; k < sizeof rooms / sizeof rooms[0]; k++)
			with_room(c, rooms[k], -1, &w);
		for (int64_t files = 0; files < 5; files++)
			with_room(c, -1, files, &w);
		wanted_fini(&w);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_that_fails_leaves_old_or_new),
		cmocka_unit_test(a_full_disk_leaves_old_or_new),
		cmocka_unit_test(dying_at_any_write_leaves_old_or_new),
		cmocka_unit_test(a_full_quota_leaves_old_or_new),
	};
	int failed;

	if (argc > 1) /* the tests of one part */
		cmocka_set_test_filter(argv[1]);
	fault_vfs_install();
	vfs_cases_inputs();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	vfs_cases_done();
	return failed;
}
