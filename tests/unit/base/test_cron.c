/* Time zones, cron expressions and points in time. */
#include "lib/time/civil.h"
#include "lib/time/cron.h"
#include "lib/time/time_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int64_t at(const char *text)
{
	struct zone *utc;
	int64_t ms;
	struct err e;

	assert_int_equal(zone_open(&utc, "UTC", &e), 0);
	assert_int_equal(time_parse("it", text, utc, &ms, &e), 0);
	zone_close(utc);
	return ms / 1000;
}

static void dates_and_days_are_inverse(void **state)
{
	(void)state;
	for (int64_t t = -30000; t < 60000; t += 7) {
		struct civil c = civil_from_seconds(t * 86400 + 3661);

		assert_int_equal(civil_days(c.year, c.month, c.day), t);
		assert_int_equal(civil_to_seconds(&c), t * 86400 + 3661);
		assert_true(c.day <= civil_month_days(c.year, c.month));
	}
	assert_int_equal(civil_from_seconds(0).weekday, 4);
}

static void check_next(const char *cron, const char *zone, const char *after,
		       const char *const *want)
{
	struct zone *z;
	struct cron c;
	struct err e;
	int64_t t = at(after);

	assert_int_equal(zone_open(&z, zone, &e), 0);
	assert_int_equal(cron_parse(&c, cron, &e), 0);
	for (; *want; want++) {
		int64_t next = cron_next(&c, z, t);

		assert_int_equal(next, at(*want));
		assert_int_equal(cron_last(&c, z, next), next);
		assert_int_equal(cron_last(&c, z, next - 1) < next, 1);
		t = next;
	}
	zone_close(z);
}

#define TIMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void clocks_that_change_move_times(void **state)
{
	(void)state;
	/* 02:30 does not exist on the 29th */
	check_next("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00Z",
		   TIMES("2026-03-28T01:30Z", "2026-03-29T01:30Z",
			 "2026-03-30T00:30Z"));
	/* and exists twice on the 25th */
	check_next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z",
		   TIMES("2026-10-25T00:30Z", "2026-10-26T01:30Z"));
	check_next("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:40Z",
		   TIMES("2026-10-25T00:00Z", "2026-10-25T00:30Z",
			 "2026-10-25T01:00Z", "2026-10-25T01:30Z",
			 "2026-10-25T02:00Z"));
	/* half an hour: 02:10 becomes 02:40, after 02:35 */
	check_next("10,35 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z",
		   TIMES("2026-10-03T15:35Z", "2026-10-03T15:40Z"));
	/* Samoa had no 30th */
	check_next("0 9 * * *", "Pacific/Apia", "2011-12-29T00:00Z",
		   TIMES("2011-12-29T19:00Z", "2011-12-30T19:00Z"));
	/* by the rule at the end of the file */
	check_next("30 2 * * *", "America/New_York", "2060-03-13T12:00Z",
		   TIMES("2060-03-14T07:30Z", "2060-03-15T06:30Z"));
}

static void fields_select_days(void **state)
{
	(void)state;
	check_next("0 0 13 * 5", "UTC", "2026-11-01T00:00Z",
		   TIMES("2026-11-06T00:00Z", "2026-11-13T00:00Z",
			 "2026-11-20T00:00Z"));
	check_next("0 0 29 feb *", "UTC", "2096-03-01T00:00Z",
		   TIMES("2104-02-29T00:00Z"));
	check_next("5 4 L * *", "UTC", "2026-01-31T05:00Z",
		   TIMES("2026-02-28T04:05Z", "2026-03-31T04:05Z"));
	check_next("10-20/5,50 6 * * mon-wed,SUN", "UTC", "2026-11-17T06:20Z",
		   TIMES("2026-11-17T06:50Z", "2026-11-18T06:10Z",
			 "2026-11-18T06:15Z"));
	check_next("@weekly", "UTC", "2026-11-18T00:00Z",
		   TIMES("2026-11-22T00:00Z"));
	check_next("0 0 * * 7", "UTC", "2026-11-18T00:00Z",
		   TIMES("2026-11-22T00:00Z"));
}

static void bad_expressions_are_rejected(void **state)
{
	static const char *const bad[] = {
		"",
		"*",
		"* * * *",
		"* * * * * *",
		"60 * * * *",
		"* 24 * * *",
		"* * 0 * *",
		"* * 32 * *",
		"* * * 13 *",
		"* * * * 8",
		"1- * * * *",
		"-1 * * * *",
		"1,, * * * *",
		"*/ * * * *",
		"*/0 * * * *",
		"5-3 * * * *",
		"a * * * *",
		"* * * foo *",
		"* * * janu *",
		"1;2 * * * *",
		"@reboot",
		"@",
		"* * L-1 * *",
	};
	struct cron c;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(cron_parse(&c, bad[i], &e), -1);
		assert_int_equal(e.code, ERR_INVALID);
	}
	assert_int_equal(cron_parse(&c, "0 0 30 2 *", &e), 0);
	{
		struct zone *z;

		assert_int_equal(zone_open(&z, "UTC", &e), 0);
		assert_true(cron_next(&c, z, 0) == INT64_MAX);
		zone_close(z);
	}
}

static void unknown_zones_are_rejected(void **state)
{
	static const char *const bad[] = {
		"",       "Mars/Base", "../../etc/passwd", "/etc/localtime",
		"Europe", "tzdata.zi"};
	struct zone *z;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(zone_open(&z, bad[i], &e), -1);
}

static void times_are_read_as_people_write_them(void **state)
{
	struct zone *z;
	struct err e;
	int64_t ms;
	char text[TIME_TEXT];

	(void)state;
	assert_int_equal(zone_open(&z, "Europe/Berlin", &e), 0);
	assert_int_equal(time_parse("t", "2026-12-24", z, &ms, &e), 0);
	assert_int_equal(ms / 1000, at("2026-12-23T23:00Z"));
	assert_int_equal(time_parse("t", "2026-07-01 18:00", z, &ms, &e), 0);
	assert_string_equal(time_text(z, ms, text),
			    "2026-07-01 18:00:00 +02:00");
	assert_int_equal(
		time_parse("t", "2026-07-01T18:00:30.5-0330", z, &ms, &e), 0);
	assert_int_equal(ms / 1000, at("2026-07-01T21:30:30Z"));
	assert_int_equal(time_parse("t", "2026-03-29T02:30", z, &ms, &e), -1);
	assert_int_equal(time_parse("t", "2026-02-30", z, &ms, &e), -1);
	assert_int_equal(time_parse("t", "tomorrow", z, &ms, &e), -1);
	assert_int_equal(time_parse("t", "2026-01-01T25:00", z, &ms, &e), -1);
	zone_close(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_and_days_are_inverse),
		cmocka_unit_test(clocks_that_change_move_times),
		cmocka_unit_test(fields_select_days),
		cmocka_unit_test(bad_expressions_are_rejected),
		cmocka_unit_test(unknown_zones_are_rejected),
		cmocka_unit_test(times_are_read_as_people_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
