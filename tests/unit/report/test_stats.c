/* The numbers of skep-bench. */
#include "lib/report/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool near(double a, double b, double share)
{
	return fabs(a - b) <= share * fabs(b);
}

static void quantiles_are_within_three_percent(void **state)
{
	struct histogram h = {0};

	(void)state;
	for (int64_t i = 1; i <= 100000; i++)
		histogram_add(&h, i * 10);
	assert_true(near((double)histogram_at(&h, 0.5), 500000, 0.035));
	assert_true(near((double)histogram_at(&h, 0.99), 990000, 0.035));
	assert_true(near((double)histogram_at(&h, 0.999), 999000, 0.035));
	assert_int_equal(histogram_at(&h, 1), 1000000);
	assert_int_equal(h.max, 1000000);
	assert_int_equal(h.n, 100000);
}

static void times_from_nothing_to_hours_have_a_place(void **state)
{
	static const int64_t times[] = {
		-5,       0, 1, 31, 32, 33, 1000, INT64_C(3600) * 1000000000,
		INT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		struct histogram h = {0};

		histogram_add(&h, times[i]);
		assert_int_equal(h.n, 1);
		if (times[i] >= 0 && times[i] < INT64_MAX)
			assert_true(near((double)histogram_at(&h, 0.5),
					 (double)times[i], 0.035));
	}
}

static void merged_histograms_are_as_one(void **state)
{
	struct histogram a = {0}, b = {0}, both = {0};

	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		histogram_add(i % 2 ? &a : &b, i * 100);
		histogram_add(&both, i * 100);
	}
	histogram_merge(&a, &b);
	assert_int_equal(a.n, both.n);
	assert_int_equal(a.max, both.max);
	assert_memory_equal(a.count, both.count, sizeof a.count);
}

static struct samples of(size_t n, double from, double step)
{
	struct samples s = {0};

	for (size_t i = 0; i < n; i++)
		samples_add(&s, from + step * (double)i);
	return s;
}

static void medians_and_spreads_are_of_sorted_values(void **state)
{
	struct samples s = {0};

	(void)state;
	samples_add(&s, 9);
	assert_true(samples_median(&s) == 9 && samples_spread(&s) == 0);
	samples_add(&s, 1);
	samples_add(&s, 5);
	assert_true(samples_median(&s) == 5);
	assert_true(samples_spread(&s) == 2); /* quartiles 3 and 7 */
	samples_add(&s, 7);
	assert_true(samples_median(&s) == 6);
	s = of(SAMPLES_MAX + 10, 1, 1);
	assert_int_equal(s.n, SAMPLES_MAX);
}

static void a_real_difference_is_told_from_chance(void **state)
{
	struct samples low = of(6, 100, 1), high = of(6, 200, 1);
	struct samples mixed = of(6, 100.5, 1), many = of(30, 100, 1);
	struct samples more = of(30, 140, 1), none = {0};

	(void)state;
	assert_true(samples_p_same(&low, &high) < 0.01);
	assert_true(samples_p_same(&low, &mixed) > 0.5);
	assert_true(samples_p_same(&low, &low) > 0.99);
	assert_true(samples_p_same(&many, &more) < 0.01);
	assert_true(samples_p_same(&low, &none) > 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_three_percent),
		cmocka_unit_test(times_from_nothing_to_hours_have_a_place),
		cmocka_unit_test(merged_histograms_are_as_one),
		cmocka_unit_test(medians_and_spreads_are_of_sorted_values),
		cmocka_unit_test(a_real_difference_is_told_from_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
