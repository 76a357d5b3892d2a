/* The supervisor's cache follows its work: supervisor/core/memory_trim.h. */
#include "supervisor/core/memory_trim.h"

#include "schema/control/control.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct temp dir;
static struct sql *db;
static struct memory_cache cache;

static int64_t kib_after(int64_t moved)
{
	int64_t pages = 0;
	struct err e;

	memory_cache(&cache, db, moved);
	assert_int_equal(sql_script_i64(db, "PRAGMA cache_size", &pages, &e),
			 0);
	return -pages;
}

static void the_cache_grows_with_deliveries_and_shrinks_after(void **state)
{
	int64_t idle, busy, moved = 0;

	(void)state;
	idle = kib_after(0);
	assert_int_equal(kib_after(moved += 10), idle); /* a few are nothing */
	busy = kib_after(moved += 1000);
	assert_true(busy > idle);
	assert_int_equal(kib_after(moved), busy); /* a breath is no end */
	for (int i = 0; i < 6; i++)
		(void)kib_after(moved);
	assert_int_equal(kib_after(moved), idle);
	assert_int_equal(kib_after(moved += 1000), busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_cache_grows_with_deliveries_and_shrinks_after),
	};
	struct home home;
	struct err e;
	int failed;

	temp_make(&dir);
	if (home_find(&home, temp_join(&dir, "home"), &e) ||
	    control_open(&db, &home, SQL_CREATE, &e))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sql_close(db);
	temp_remove(&dir);
	return failed;
}
