/* The configuration file and the home directory. */
#include "lib/os/atomic_file.h"
#include "schema/config.h"
#include "schema/home.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;

static int parse_config(struct config *c, const char *text, struct err *e)
{
	config_defaults(c);
	return config_parse(c, "skep.json", text, strlen(text), e);
}

static void refused(const char *text, const char *reason)
{
	struct config c;
	struct err e = {0};

	assert_int_equal(parse_config(&c, text, &e), -1);
	config_fini(&c);
	assert_int_equal(e.code, ERR_CONFIG);
	if (!strstr(e.text, reason) || !strstr(e.text, "skep.json"))
		fail_msg("'%s' is not in '%s'", reason, e.text);
}

static void a_missing_file_means_the_defaults(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(config_load(&c, temp_join(&dir, "none.json"), &e), 0);
	assert_string_equal(c.log_level, "info");
	assert_string_equal(c.agent_synchronous, "normal");
	assert_false(c.from_file);
	config_fini(&c);
}

static void values_are_read_with_their_units(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(
		parse_config(&c,
			     "{\"log\":{\"level\":\"warn\"},\"agent\":"
			     "{\"artifact_max\":\"64k\",\"diagnostics\":"
			     "true},\"$schema\":\"x\"}",
			     &e),
		0);
	assert_string_equal(c.log_level, "warn");
	assert_int_equal(c.agent_artifact_max, 65536);
	assert_true(c.agent_diagnostics);
	assert_int_equal(c.warnings.n, 0);
	config_fini(&c);
}

static void a_broken_file_is_told_with_line_and_column(void **state)
{
	(void)state;
	refused("{\n\t\"log\": {\n\t\t\"level\": warn\n\t}\n}",
		"line 3, column 12");
	refused("", "line 1, column 1");
	refused("[]", "object");
}

static void a_wrong_value_names_its_key(void **state)
{
	(void)state;
	refused("{\"log\":{\"level\":\"loud\"}}", "log.level is 'loud'");
	refused("{\"log\":{\"level\":\"debug|info\"}}", "log.level");
	refused("{\"log\":{\"level\":\"\"}}", "log.level");
	refused("{\"log\":{\"level\":7}}", "log.level must be a string");
	refused("{\"log\":7}", "log must be an object");
	refused("{\"agent\":{\"diagnostics\":1}}", "agent.diagnostics");
	refused("{\"agent\":{\"diagnostics_rows\":0}}", "between 1 and");
	refused("{\"agent\":{\"diagnostics_rows\":1.5}}", "whole number");
	refused("{\"agent\":{\"diagnostics_rows\":\"5\"}}", "whole number");
	refused("{\"agent\":{\"artifact_max\":\"12 parsecs\"}}",
		"agent.artifact_max");
	refused("{\"agent\":{\"artifact_max\":1e300}}", "agent.artifact_max");
}

static void what_is_there_twice_is_refused(void **state)
{
	(void)state;
	refused("{\"log\":{},\"log\":{\"level\":\"warn\"}}",
		"log is a duplicate key");
	refused("{\"log\":{\"level\":\"warn\",\"level\":\"info\"}}",
		"log.level is a duplicate key");
	refused("{\"odd\":1,\"odd\":2}", "odd is a duplicate key");
}

static void unknown_keys_are_named_in_warnings(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(
		parse_config(&c,
			     "{\"log\":{\"colour\":1},\"nobody\\n\":{},"
			     "\"agent\":{\"diagnostics\":true}}",
			     &e),
		0);
	assert_non_null(strstr(c.warnings.p, "log.colour\n"));
	assert_non_null(strstr(c.warnings.p, "nobody\\x0a\n"));
	assert_true(c.agent_diagnostics);
	config_fini(&c);
}

static void what_is_shown_reads_back_the_same(void **state)
{
	struct buf one = BUF_MAX(1 << 20), two = BUF_MAX(1 << 20);
	struct config c, again;
	struct err e;

	(void)state;
	assert_int_equal(
		parse_config(&c,
			     "{\"log\":{\"level\":\"error\"},\"agent\":"
			     "{\"artifact_max\":12345}}",
			     &e),
		0);
	config_show(&c, &one);
	config_defaults(&again);
	assert_int_equal(config_parse(&again, "shown", one.p, one.n, &e), 0);
	config_show(&again, &two);
	assert_string_equal(one.p, two.p);
	assert_non_null(strstr(one.p, "12345"));
	config_fini(&c);
	config_fini(&again);
	buf_fini(&one);
	buf_fini(&two);
}

static void a_file_of_two_megabytes_is_refused(void **state)
{
	static char huge[2 << 20];
	const char *path = temp_join(&dir, "huge.json");
	struct config c;
	struct err e;

	(void)state;
	memset(huge, ' ', sizeof huge);
	assert_int_equal(atomic_file_write(path, huge, sizeof huge, 0600, &e),
			 0);
	assert_int_equal(config_load(&c, path, &e), -1);
	assert_int_equal(e.code, ERR_CONFIG);
	assert_non_null(strstr(e.text, path));
	config_fini(&c);
}

static void words_that_mean_unset_are_unset(void **state)
{
	static const char *const unset[] = {"", "undefined", "null"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		setenv("SKEP_TEST_VALUE", unset[i], 1);
		assert_null(home_env("SKEP_TEST_VALUE"));
	}
	setenv("SKEP_TEST_VALUE", "x", 1);
	assert_string_equal(home_env("SKEP_TEST_VALUE"), "x");
	unsetenv("SKEP_TEST_VALUE");
	assert_null(home_env("SKEP_TEST_VALUE"));
}

static void the_home_is_asked_for_in_order(void **state)
{
	struct home h;
	struct err e;
	char cwd[4096], want[4200];

	(void)state;
	setenv("HOME", "/home/someone", 1);
	setenv("SKEP_HOME", "undefined", 1);
	assert_int_equal(home_find(&h, NULL, &e), 0);
	assert_string_equal(h.root, "/home/someone/.skep");
	setenv("SKEP_HOME", "/srv/skep///", 1);
	assert_int_equal(home_find(&h, NULL, &e), 0);
	assert_string_equal(h.root, "/srv/skep");
	assert_int_equal(home_find(&h, "relative", &e), 0);
	assert_non_null(getcwd(cwd, sizeof cwd));
	snprintf(want, sizeof want, "%s/relative", cwd);
	assert_string_equal(h.root, want);
	unsetenv("SKEP_HOME");
}

static void a_home_too_long_for_its_files_is_refused(void **state)
{
	char path[PATH_MAX + 10];
	struct home h;
	struct err e;

	(void)state;
	memset(path, 'x', sizeof path);
	path[0] = '/';
	for (size_t n = PATH_MAX - 300; n < PATH_MAX + 5; n++) {
		path[n] = '\0';
		if (home_find(&h, path, &e) == 0) {
			struct home_path p = home_join(
				&h, HOME_AGENTS,
				"a-name-of-64-bytes-a-name-of-64-bytes-a-name-"
				"of-64-bytes-a-name-o/agent.sqlite-journal");

			assert_true(strlen(p.text) < PATH_MAX - 1);
			assert_non_null(strstr(p.text, "sqlite-journal"));
		} else {
			assert_non_null(strstr(e.text, "too long"));
		}
		path[n] = 'x';
	}
}

static void a_home_is_made_private_and_again(void **state)
{
	struct home h;
	struct err e;
	struct stat st;
	mode_t was = umask(0);

	(void)state;
	assert_int_equal(home_find(&h, temp_join(&dir, "a/b/home"), &e), 0);
	assert_int_equal(home_make(&h, &e), 0);
	assert_int_equal(home_make(&h, &e), 0);
	umask(was);
	assert_int_equal(stat(home_path(&h, HOME_AGENTS).text, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(h.root, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(home_path(&h, HOME_CONTROL_DB).text +
				    strlen(h.root),
			    "/state/skep.sqlite");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_file_means_the_defaults),
		cmocka_unit_test(values_are_read_with_their_units),
		cmocka_unit_test(a_broken_file_is_told_with_line_and_column),
		cmocka_unit_test(a_wrong_value_names_its_key),
		cmocka_unit_test(what_is_there_twice_is_refused),
		cmocka_unit_test(unknown_keys_are_named_in_warnings),
		cmocka_unit_test(what_is_shown_reads_back_the_same),
		cmocka_unit_test(a_file_of_two_megabytes_is_refused),
		cmocka_unit_test(words_that_mean_unset_are_unset),
		cmocka_unit_test(the_home_is_asked_for_in_order),
		cmocka_unit_test(a_home_too_long_for_its_files_is_refused),
		cmocka_unit_test(a_home_is_made_private_and_again),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
