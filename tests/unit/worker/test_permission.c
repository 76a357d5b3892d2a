#include "worker/driver/permission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static int read_text(const char *text, struct permissions *p, struct arena *a,
		     struct err *e)
{
	cJSON *v = json_parse_object("test", text, strlen(text), e);
	int rc;

	assert_non_null(v);
	rc = permissions_read(p, v, a, e);
	cJSON_Delete(v);
	return rc;
}

static enum permit permit_of(const char *rules,
			     const struct permission_subject *s)
{
	struct permissions p;
	struct arena a = {0};
	struct err e;
	const char *rule;
	enum permit got;

	assert_int_equal(read_text(rules, &p, &a, &e), 0);
	got = permissions_evaluate(&p, s, &rule);
	arena_fini(&a);
	return got;
}

static const struct permission_subject git = {
	.kind = "execute", .title = "run git", .command = "git status"};

static void without_rules_a_person_is_asked(void **state)
{
	(void)state;
	assert_int_equal(permit_of("{}", &git), PERMIT_ASK);
	assert_int_equal(
		permit_of("{\"permissions\":{\"default\":\"deny\"}}", &git),
		PERMIT_DENY);
}

static void deny_wins_then_ask_then_allow(void **state)
{
	(void)state;
	assert_int_equal(
		permit_of("{\"permissions\":{\"allow\":[\"execute\"]}}", &git),
		PERMIT_ALLOW);
	assert_int_equal(permit_of("{\"permissions\":{\"allow\":[\"execute\"],"
				   "\"ask\":[\"execute:git *\"]}}",
				   &git),
			 PERMIT_ASK);
	assert_int_equal(permit_of("{\"permissions\":{\"allow\":[\"execute\"],"
				   "\"ask\":[\"execute:git *\"],"
				   "\"deny\":[\"*:*status*\"]}}",
				   &git),
			 PERMIT_DENY);
}

static void a_line_for_a_shell_is_not_the_command_it_begins_with(void **state)
{
	static const char rules[] =
		"{\"permissions\":{\"allow\":[\"execute:git *\"]}}";
	static const char *const lines[] = {
		"git status; rm -rf /", "git log | sh",
		"git log && x",         "git $(x)",
		"git log > f",          "git `x`",
		"git log\nrm x",
	};

	(void)state;
	assert_int_equal(permit_of(rules, &git), PERMIT_ALLOW);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct permission_subject s = git;

		s.command = lines[i];
		assert_int_equal(permit_of(rules, &s), PERMIT_ASK);
	}
}

static void all_paths_must_fit_to_be_allowed_and_one_to_be_denied(void **state)
{
	static const char rules[] = "{\"permissions\":{\"allow\":[\"edit:src/*"
				    "\"],\"deny\":[\"edit:*.lock\"]}}";
	struct permission_subject s = {.kind = "edit",
				       .title = "edit",
				       .paths = {"src/a.c", "src/deep/b.c"},
				       .npaths = 2};

	(void)state;
	assert_int_equal(permit_of(rules, &s), PERMIT_ALLOW);
	s.paths[1] = "other/b.c";
	assert_int_equal(permit_of(rules, &s), PERMIT_ASK);
	s.paths[1] = "src/../../etc/passwd";
	assert_int_equal(permit_of(rules, &s), PERMIT_ASK);
	s.paths[1] = "x.lock";
	assert_int_equal(permit_of(rules, &s), PERMIT_DENY);
	s.paths[1] = "src/b.c";
	s.more = true;
	assert_int_equal(permit_of(rules, &s), PERMIT_ASK);
}

static void a_path_is_denied_however_it_is_spelled(void **state)
{
	static const struct {
		const char *path;
		enum permit permit;
	} all[] = {
		{"key", PERMIT_DENY},        {"./key", PERMIT_DENY},
		{".//key", PERMIT_DENY},     {"a/../key", PERMIT_DENY},
		{"a/./../key", PERMIT_DENY}, {"a/b/../../key", PERMIT_DENY},
		{"./././key", PERMIT_DENY},  {"key/", PERMIT_DENY},
		{"d/./in", PERMIT_DENY},     {"d//in", PERMIT_DENY},
		{"e/../d/in", PERMIT_DENY},  {"/x/../etc/y", PERMIT_DENY},
		{"/../etc/y", PERMIT_DENY},  {"other", PERMIT_ALLOW},
		{"a/key", PERMIT_ALLOW},     {"../key", PERMIT_ALLOW},
		{"..", PERMIT_ALLOW},        {"a/..", PERMIT_ALLOW},
		{"d/../in", PERMIT_DENY},    {"...", PERMIT_ALLOW},
		{"", PERMIT_ALLOW},          {"/", PERMIT_ALLOW},
		{"../../key", PERMIT_ALLOW}, {"a/../../key", PERMIT_ALLOW},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct permission_subject s = {.kind = "edit",
					       .title = "",
					       .paths = {all[i].path},
					       .npaths = 1};

		if (permit_of(
			    "{\"permissions\":{\"default\":\"allow\",\"deny\":"
			    "[\"edit:key\",\"edit:d/*\",\"edit:/etc/*\"]}}",
			    &s) != all[i].permit)
			fail_msg("%s", all[i].path);
	}
}

static void a_grant_is_for_the_very_thing_and_below_deny(void **state)
{
	struct permission_subject s = {
		.kind = "execute", .title = "t", .command = "ls *; date"};
	struct permissions p;
	struct arena a = {0};
	struct err e;
	const char *rule;

	(void)state;
	assert_int_equal(read_text("{\"permissions\":{\"ask\":[\"execute\"],"
				   "\"deny\":[\"execute:*rm*\"]}}",
				   &p, &a, &e),
			 0);
	permissions_grant(&p, PERMIT_ALLOW, "execute",
			  permission_pattern(&s, &a), &a);
	assert_int_equal(permissions_evaluate(&p, &s, &rule), PERMIT_ALLOW);
	s.command = "ls x; date";
	assert_int_equal(permissions_evaluate(&p, &s, &rule), PERMIT_ASK);
	s.command = "rm x";
	permissions_grant(&p, PERMIT_ALLOW, "execute", "rm x", &a);
	assert_int_equal(permissions_evaluate(&p, &s, &rule), PERMIT_DENY);
	arena_fini(&a);
}

static void a_rule_that_cannot_be_read_is_named(void **state)
{
	static const char *const bad[] = {
		"{\"permissions\":[]}",
		"{\"permissions\":{\"allow\":\"read\"}}",
		"{\"permissions\":{\"allow\":[\":x\"]}}",
		"{\"permissions\":{\"allow\":[1]}}",
		"{\"permissions\":{\"permit\":[]}}",
		"{\"permissions\":{\"default\":\"yes\"}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct permissions p;
		struct arena a = {0};
		struct err e = {0};

		assert_int_equal(read_text(bad[i], &p, &a, &e), -1);
		assert_int_equal(e.code, ERR_INVALID);
		assert_non_null(strstr(e.text, "permissions"));
		arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rules_a_person_is_asked),
		cmocka_unit_test(deny_wins_then_ask_then_allow),
		cmocka_unit_test(
			a_line_for_a_shell_is_not_the_command_it_begins_with),
		cmocka_unit_test(
			all_paths_must_fit_to_be_allowed_and_one_to_be_denied),
		cmocka_unit_test(a_path_is_denied_however_it_is_spelled),
		cmocka_unit_test(a_grant_is_for_the_very_thing_and_below_deny),
		cmocka_unit_test(a_rule_that_cannot_be_read_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
