#include "tests/support/agent_fixture.h"
#include "tests/support/clock.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/agent/cache.h"
#include "schema/agent/diagnostics.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int tear_down_cache(void **state)
{
	test_clock_set(-1);
	return tear_down_agent(state);
}

/* Every second one expires at `until`. */
static void fill_cache(int n, int64_t until)
{
	test_sql(&file,
		 "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM "
		 "i WHERE n + 1 < %d) INSERT INTO cache (scope, key, value, "
		 "created_at, expires_at) SELECT 's', n, x'00', 0, "
		 "iif(n %% 2, %lld, NULL) FROM i",
		 n, (long long)until);
}

static void gc_frees_the_expired_only_and_is_bounded(void **state)
{
	struct err e;

	(void)state;
	test_clock_set(1000000);
	fill_cache(1000, 1000010);
	assert_int_equal(cache_gc(file.db, 10000, &e), 0);
	test_clock_set(1000010);
	assert_int_equal(cache_gc(file.db, 300, &e), 300);
	assert_int_equal(cache_gc(file.db, 10000, &e), 200);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM cache"), 500);
}

/* --- diagnostics ------------------------------------------------------ */

static int add_diagnostic(const char *area, const char *body)
{
	struct err e = {0};
	int n = diagnostics_add(file.db, 0, area, "run_1", body, &e);

	if (n < 0)
		fail_msg("%s", e.text);
	return n;
}

static void diagnostics_are_off_until_somebody_wants_them(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(add_diagnostic("tts", "hello"), 0);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM diagnostic"),
			 0);
	assert_int_equal(diagnostics_set(file.db, 10, &e), 0);
	assert_int_equal(add_diagnostic("tts", "hello"), 1);
	assert_int_equal(diagnostics_set(file.db, 0, &e), 0);
	assert_int_equal(add_diagnostic("tts", "hello"), 0);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM diagnostic"),
			 0);
	assert_int_equal(diagnostics_set(file.db, -1, &e), -1);
	assert_int_equal(diagnostics_add(file.db, 9, "tts", NULL, "{}", &e), 0);
}

static void a_file_that_says_nothing_keeps_what_the_host_wants(void **state)
{
	struct err e;

	(void)state;
	for (int i = 0; i < 9; i++)
		assert_int_equal(
			diagnostics_add(file.db, 4, "tts", NULL, "{}", &e), 1);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM diagnostic"),
			 4);
}

static void only_the_newest_are_kept_and_long_ones_are_cut(void **state)
{
	static char body[DIAGNOSTICS_BODY_MAX + 100];
	struct err e;

	(void)state;
	assert_int_equal(diagnostics_set(file.db, 5, &e), 0);
	memset(body, 'x', sizeof body - 1);
	memcpy(body + DIAGNOSTICS_BODY_MAX - 1, "\xc3\xa9", 2);
	for (int i = 0; i < 20; i++)
		assert_int_equal(add_diagnostic("tts", body), 1);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM diagnostic"),
			 5);
	assert_int_equal(test_number(&file, "SELECT min(id) FROM diagnostic"),
			 16);
	assert_int_equal(test_number(&file, "SELECT length(CAST(body AS BLOB)) "
					    "FROM diagnostic WHERE is_cut"),
			 DIAGNOSTICS_BODY_MAX - 1);
}

static void an_export_has_every_record_as_a_line_of_json(void **state)
{
	const char *path = temp_join(&dir, "out");
	int fd = open(path, O_RDWR | O_CREAT, 0600), lines = 0;
	struct buf b = BUF_MAX(1 << 20);
	struct err e = {0};
	char body[32];

	(void)state;
	assert_int_equal(diagnostics_set(file.db, 1000, &e), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(body, sizeof body, "say \"%d\"\n", i);
		add_diagnostic(i % 3 ? "tts" : "mcp", body);
	}
	assert_int_equal(diagnostics_export(file.db, "tts", fd, &e), 200);
	assert_int_equal(diagnostics_export(file.db, NULL, fd, &e), 300);
	close(fd);
	assert_int_equal(file_read(path, &b, &e), 0);
	for (char *p = b.p, *nl; (nl = strchr(p, '\n')) != NULL; p = nl + 1) {
		cJSON *v = json_parse_object("line", p, (size_t)(nl - p), &e);

		if (!v)
			fail_msg("%s", e.text);
		assert_int_equal(strncmp(json_text(v, "body", ""), "say \"", 5),
				 0);
		cJSON_Delete(v);
		lines++;
	}
	assert_int_equal(lines, 500);
	buf_fini(&b);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, set_up_agent, tear_down_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gc_frees_the_expired_only_and_is_bounded),
		TEST(diagnostics_are_off_until_somebody_wants_them),
		TEST(a_file_that_says_nothing_keeps_what_the_host_wants),
		TEST(only_the_newest_are_kept_and_long_ones_are_cut),
		TEST(an_export_has_every_record_as_a_line_of_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
