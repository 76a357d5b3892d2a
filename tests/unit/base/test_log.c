/* The log, the clock and the fault points. */
#include "tests/support/clock.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/os/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int fd;

static int set_up_log(void **state)
{
	(void)state;
	fd = memfd_create("log", MFD_CLOEXEC);
	log_setup("test", LOG_LEVEL_INFO, fd);
	test_clock_set(1700000000123);
	return fd < 0;
}

static int tear_down_log(void **state)
{
	(void)state;
	test_clock_set(-1);
	close(fd);
	log_setup("test", LOG_LEVEL_INFO, -1);
	return 0;
}

/* All that was logged; static, until the next call. */
static const char *logged(void)
{
	static struct buf b = BUF_MAX(1 << 20);
	struct err e;

	buf_clear(&b);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(file_read_fd(fd, "log", &b, &e), 0);
	return b.p;
}

static void a_line_has_time_level_program_and_fields(void **state)
{
	(void)state;
	log_info(LT("msg", "worker started"), LT("run", "run_1"),
		 LI("pid", -42));
	assert_string_equal(logged(),
			    "ts=2023-11-14T22:13:20.123Z level=info prog=test "
			    "mod=base/test_log "
			    "msg=\"worker started\" run=run_1 pid=-42\n");
}

static void no_value_can_forge_a_line(void **state)
{
	const char *text;

	(void)state;
	log_warn(LT("msg", "a\nts=0 level=error\r\x1b[2J\"x\\"),
		 LT("eq", "a=b"), LT("empty", ""), LT("none", NULL));
	text = logged();
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_null(strpbrk(text, "\r\x1b"));
	assert_non_null(strstr(text, "msg=\"a\\nts=0 level=error\\x0d\\x1b[2J"
				     "\\\"x\\\\\""));
	assert_non_null(strstr(text, "eq=\"a=b\" empty=\"\" none=-"));
}

static void bytes_that_are_no_text_are_escaped(void **state)
{
	const char *text;

	(void)state;
	log_info(LT("key", "x\xff\xc3y é"), LT("odd", "\xc2\x9b"));
	text = logged();
	assert_true(text_is_utf8(text, strlen(text)));
	assert_non_null(strstr(text, "key=\"x\\xff\\xc3y é\""));
}

static void a_long_line_is_cut_and_still_reads(void **state)
{
	static char huge[9000];
	const char *text, *quote;

	(void)state;
	for (size_t i = 0; i < sizeof huge - 1; i++)
		huge[i] = i % 2 ? '\n' : 'x';
	log_info(LT("msg", huge), LT("after", "it"));
	text = logged();
	assert_true(strlen(text) < 4200);
	assert_string_equal(text + strlen(text) - strlen(" cut=1\n"),
			    " cut=1\n");
	quote = strstr(text, "msg=\"");
	assert_non_null(quote);
	assert_int_equal(text[strlen(text) - strlen(" cut=1\n") - 1], '"');
}

static void levels_below_the_least_are_not_written(void **state)
{
	(void)state;
	log_debug(LT("msg", "quiet"));
	assert_string_equal(logged(), "");
	log_setup("test", LOG_LEVEL_ERROR, fd);
	log_warn(LT("msg", "quiet"));
	assert_string_equal(logged(), "");
	log_error(LT("msg", "loud"));
	assert_non_null(strstr(logged(), "level=error"));
	assert_int_equal(log_level_from("warn"), LOG_LEVEL_WARN);
	assert_int_equal(log_level_from("loud"), -1);
}

static void times_are_written_as_people_read_them(void **state)
{
	char out[CLOCK_TEXT];

	(void)state;
	assert_string_equal(clock_text(0, out), "1970-01-01T00:00:00.000Z");
	assert_string_equal(clock_text(-1, out), "1969-12-31T23:59:59.999Z");
	assert_string_equal(clock_text(951782400007, out),
			    "2000-02-29T00:00:00.007Z");
	assert_true(strlen(clock_text(INT64_MAX, out)) < CLOCK_TEXT);
	assert_true(strlen(clock_text(INT64_MIN, out)) < CLOCK_TEXT);
}

static void the_clock_stands_where_a_test_sets_it(void **state)
{
	int64_t mono = clock_mono_ns();

	(void)state;
	test_clock_set(5);
	assert_int_equal(clock_now(), 5);
	assert_int_equal(clock_now_ns(), 5000000);
	test_clock_set(-1);
	assert_true(clock_now() > INT64_C(1600000000000));
	assert_true(clock_mono_ns() > mono);
}

#ifdef SKEP_FAULTS

/* Exit status of a child that passes the point `times` times, or -signal. */
static int pass_in_child(const char *plan, int times)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct err e = {0};
		int bad = 0;

		setenv("SKEP_FAULT", plan, 1);
		for (int i = 0; i < times; i++)
			bad = bad * 2 +
			      (fault_point(FAULT_db_migrate_step, &e) != 0);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void a_fault_point_does_what_the_plan_says(void **state)
{
	(void)state;
	assert_int_equal(pass_in_child("db_migrate_step:kill", 1), -SIGKILL);
	assert_int_equal(pass_in_child("db_migrate_step:error", 3), 4);
	assert_int_equal(pass_in_child("db_migrate_step:error:2", 3), 2);
	assert_int_equal(pass_in_child("db_migrate_step:stall20", 2), 0);
	assert_int_equal(pass_in_child("test_log/db_migrate_step:error", 1), 1);
	assert_int_equal(pass_in_child("skepd/db_migrate_step:error", 1), 0);
	assert_int_equal(pass_in_child("append_before_commit:error", 1), 0);
	assert_int_equal(pass_in_child("nonsense", 1), 0);
}

#endif

int main(void)
{
#define LOGGED(f) cmocka_unit_test_setup_teardown(f, set_up_log, tear_down_log)
	const struct CMUnitTest tests[] = {
		LOGGED(a_line_has_time_level_program_and_fields),
		LOGGED(no_value_can_forge_a_line),
		LOGGED(bytes_that_are_no_text_are_escaped),
		LOGGED(a_long_line_is_cut_and_still_reads),
		LOGGED(levels_below_the_least_are_not_written),
		cmocka_unit_test(times_are_written_as_people_read_them),
		cmocka_unit_test(the_clock_stands_where_a_test_sets_it),
#ifdef SKEP_FAULTS
		cmocka_unit_test(a_fault_point_does_what_the_plan_says),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
