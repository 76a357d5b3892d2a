#include "ops/maintain/batch.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

/* A machine of which each row takes as long as we say. */
static struct temp dir;
static struct sql *db;
static int64_t now_ns;     /* a breath between batches is real: few rows do */
static int64_t row_ns;     /* of the rows at hand */
static int64_t slow_after; /* rows, then each takes 20 times as long */
static int64_t left, longest, steps, rows;

static int64_t fake_clock(void)
{
	return now_ns;
}

static int set_up_batch(void **state)
{
	struct err e;

	(void)state;
	temp_make(&dir);
	assert_int_equal(sql_open(&db, temp_join(&dir, "x.sqlite"), NULL,
				  SQL_CREATE, &e),
			 0);
	return 0;
}

static int tear_down_batch(void **state)
{
	(void)state;
	sql_close(db);
	temp_remove(&dir);
	return 0;
}

static int count_batch(struct sql *on, int64_t count, void *arg, struct err *e)
{
	int64_t *began = arg;

	(void)e;
	assert_true(sql_in_transaction(on));
	if (*began == 0)
		*began = now_ns;
	if (count > left)
		count = left;
	for (int64_t i = 0; i < count; i++)
		now_ns += rows++ < slow_after ? row_ns : 20 * row_ns;
	steps++;
	left -= count;
	if (now_ns - *began > longest)
		longest = now_ns - *began;
	return (int)count;
}

static int64_t all_batchs(int64_t n, int64_t each_ns, int64_t slow)
{
	struct batch s = BATCH_BEGIN;
	int64_t batches = 0, sum = 0;
	struct err e;
	int got;

	s.clock = fake_clock;
	now_ns = 1;
	left = n;
	row_ns = each_ns;
	slow_after = slow;
	longest = steps = rows = 0;
	do {
		int64_t began = 0;

		got = batch_run(&s, db, count_batch, &began, &e);
		assert_true(got >= 0);
		assert_false(sql_in_transaction(db));
		sum += got;
		batches++;
	} while (got > 0);
	assert_int_equal(sum, n);
	return batches;
}

static void no_batch_is_longer_than_its_limit(void **state)
{
	static const int64_t each[] = {100, 10000, 100000, MS, 5 * MS, 30 * MS};

	(void)state;
	for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
		all_batchs(130, each[i], 130);
		assert_true(longest <= BATCH_MAX_MS * MS);
	}
}

static void rows_that_are_suddenly_slow_make_no_long_batch(void **state)
{
	(void)state;
	for (int64_t slow = 1; slow < 2000; slow += 171) {
		all_batchs(slow + 200, 50000, slow);
		assert_true(longest <= BATCH_MAX_MS * MS);
	}
}

static void fast_rows_make_few_batchs(void **state)
{
	(void)state;
	assert_true(all_batchs(100000, 1000, 100000) < 15);
	assert_true(steps < 2000);
}

static void nothing_begins_after_the_end(void **state)
{
	struct batch s = BATCH_BEGIN;
	int64_t began = 0;
	struct err e;

	(void)state;
	s.clock = fake_clock;
	s.until = 30 * MS;
	now_ns = 1;
	left = 1000;
	row_ns = MS;
	slow_after = 1000;
	assert_int_equal(batch_all(&s, db, count_batch, &began, &e), -1);
	assert_int_equal(e.code, ERR_TIMEOUT);
	assert_true(now_ns <= 30 * MS + 2 * BATCH_AIM_MS * MS);
}

static void a_batch_inside_a_transaction_is_a_part_of_it(void **state)
{
	struct batch s = BATCH_BEGIN;
	int64_t began = 0;
	struct err e;

	(void)state;
	s.clock = fake_clock;
	now_ns = 1;
	left = slow_after = 500;
	row_ns = MS;
	assert_int_equal(sql_enter(db, &e), 0);
	assert_int_equal(batch_all(&s, db, count_batch, &began, &e), 500);
	assert_true(sql_in_transaction(db));
	assert_int_equal(sql_leave(db, -1, &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, set_up_batch, tear_down_batch)
		TEST(no_batch_is_longer_than_its_limit),
		TEST(rows_that_are_suddenly_slow_make_no_long_batch),
		TEST(fast_rows_make_few_batchs),
		TEST(nothing_begins_after_the_end),
		TEST(a_batch_inside_a_transaction_is_a_part_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
