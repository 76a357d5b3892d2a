#include "lib/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void a_failure_says_what_happened_and_returns_minus_one(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_set(&e, ERR_NOTFOUND, "no agent '%s'", "bob"), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_string_equal(e.text, "no agent 'bob'");
}

static void context_goes_before_the_reason_and_keeps_the_code(void **state)
{
	struct err e;

	(void)state;
	err_set(&e, ERR_FULL, "no space");
	assert_int_equal(err_wrap(&e, "run %d", 7), -1);
	assert_int_equal(e.code, ERR_FULL);
	assert_string_equal(e.text, "run 7: no space");
}

static void assert_cut(const struct err *e)
{
	size_t n = strlen(e->text);

	assert_int_equal(n, sizeof e->text - 1);
	assert_string_equal(e->text + n - strlen("…"), "…");
}

static void long_texts_are_visibly_cut(void **state)
{
	char longer[2000];
	struct err e;

	(void)state;
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	err_set(&e, ERR_IO, "%s", longer);
	assert_cut(&e);
	err_wrap(&e, "%s", longer);
	assert_cut(&e);
	err_wrap(&e, "run 7");
	assert_cut(&e);
	errno = ENOENT;
	err_errno_set(&e, "%s", longer);
	assert_cut(&e);
	longer[sizeof e.text - 1] = '\0'; /* fits exactly */
	err_set(&e, ERR_IO, "%s", longer);
	assert_string_equal(e.text, longer);
}

static void errno_becomes_a_code_and_a_reason(void **state)
{
	struct err e;

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_errno_set(&e, "/x/%d", 1), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_string_equal(e.text, "/x/1: No such file or directory");
	errno = ENOSPC;
	err_errno_set(&e, "f");
	assert_int_equal(e.code, ERR_FULL);
	errno = EROFS;
	err_errno_set(&e, "f");
	assert_int_equal(e.code, ERR_READONLY);
}

static void every_code_has_what_each_edge_needs(void **state)
{
	(void)state;
	for (int i = 0; i < ERR_COUNT; i++) {
		enum err_code c = (enum err_code)i;

		assert_non_null(err_name(c));
		assert_true(strlen(err_description(c)) > 3);
		assert_int_equal(err_from_name(err_name(c)), c);
		if (c == ERR_OK)
			continue;
		assert_in_range(err_http_status(c), 400, 599);
		if (c == ERR_FAILED) /* not ours to fail: the run's */
			assert_int_equal(err_exit_status(c), 1);
		else
			assert_in_range(err_exit_status(c), 64, 78);
		assert_true(err_errno(c) > 0);
	}
	assert_int_equal(err_exit_status(ERR_OK), 0);
	assert_int_equal(err_exit_status(ERR_VERSION), 78);
	assert_int_equal(err_exit_status(ERR_CONFIG), 78);
	assert_int_equal(err_from_name("NONSENSE"), ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_failure_says_what_happened_and_returns_minus_one),
		cmocka_unit_test(
			context_goes_before_the_reason_and_keeps_the_code),
		cmocka_unit_test(long_texts_are_visibly_cut),
		cmocka_unit_test(errno_becomes_a_code_and_a_reason),
		cmocka_unit_test(every_code_has_what_each_edge_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
