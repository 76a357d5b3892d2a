#include "worker/process/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int read_config(const char *json, struct exec_config *c, struct arena *a,
		       struct err *e)
{
	struct msg_start s = {
		.run = "run_1",
		.attempt = 3,
		.agent = "a",
		.session = "main",
		.config = json,
	};

	return exec_config_read(c, &s, "/w", a, e);
}

static const char *env_of(const struct exec_config *c, const char *name)
{
	size_t n = strlen(name);

	for (char **p = c->env; *p; p++)
		if (strncmp(*p, name, n) == 0 && (*p)[n] == '=')
			return *p + n + 1;
	return NULL;
}

static void a_slip_is_named(void **state)
{
	static const struct {
		const char *json, *why;
	} all[] = {
		{"{}", "needs \"command\""},
		{"[]", "object"},
		{"{\"command\":[]}", "needs \"command\""},
		{"{\"command\":\"ls\"}", "a list of strings"},
		{"{\"command\":[\"\"]}", "empty"},
		{"{\"command\":[\"a\",1]}", "a list of strings"},
		{"{\"command\":[\"a\"],\"shell\":\"b\"}", "or \"shell\""},
		{"{\"command\":[\"a\"],\"cwd\":\"/\"}", "cwd"},
		{"{\"command\":[\"a\"],\"env\":{\"A\":1}}", "env"},
		{"{\"command\":[\"a\"],\"env\":{\"A=B\":\"x\"}}", "env"},
		{"{\"command\":[\"a\"],\"pass\":[1]}", "pass"},
		{"{\"command\":[\"a\"],\"stdin\":\"tape\"}", "tape"},
		{"{\"command\":[\"a\"],\"context\":-1}", "context"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct exec_config c;
		struct arena a = {0};
		struct err e = {0};

		assert_int_equal(read_config(all[i].json, &c, &a, &e), -1);
		if (!strstr(e.text, all[i].why))
			fail_msg("%s: \"%s\"", all[i].json, e.text);
		arena_fini(&a);
	}
}

static void the_environment_holds_only_what_was_allowed(void **state)
{
	struct exec_config c;
	struct arena a = {0};
	struct err e = {0};

	(void)state;
	setenv("API_SECRET", "x", 1);
	setenv("WANTED", "y", 1);
	setenv("TZ", "UTC", 1);
	assert_int_equal(read_config("{\"command\":[\"a\"],\"env\":{\"TZ\":"
				     "\"mine\",\"SKEP_RUN_ID\":\"forged\"},"
				     "\"pass\":[\"WANTED\",\"ABSENT\"]}",
				     &c, &a, &e),
			 0);
	assert_null(env_of(&c, "API_SECRET"));
	assert_null(env_of(&c, "ABSENT"));
	assert_string_equal(env_of(&c, "WANTED"), "y");
	assert_string_equal(env_of(&c, "TZ"), "mine");
	assert_string_equal(env_of(&c, "SKEP_RUN_ID"), "run_1");
	assert_string_equal(env_of(&c, "SKEP_ATTEMPT"), "3");
	assert_string_equal(env_of(&c, "SKEP_WORKSPACE"), "/w");
	arena_fini(&a);
}

static void a_shell_line_is_a_command_of_sh(void **state)
{
	struct exec_config c;
	struct arena a = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(read_config("{\"shell\":\"a|b\",\"stdin\":\"once\"}",
				     &c, &a, &e),
			 0);
	assert_string_equal(c.argv[0], "/bin/sh");
	assert_string_equal(c.argv[2], "a|b");
	assert_null(c.argv[3]);
	assert_int_equal(c.in, STDIN_ONCE);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slip_is_named),
		cmocka_unit_test(the_environment_holds_only_what_was_allowed),
		cmocka_unit_test(a_shell_line_is_a_command_of_sh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
