/* Which workspace a run gets: schema/control/run_workspace.h. */
#include "schema/control/run_workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;
static struct err e;

static int tear_down_arena(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

static struct run_workspace choose(struct run_active_row *run, const char *mode,
				   const char *session, const char *spec)
{
	cJSON *v = json_parse_object("spec", spec, strlen(spec), &e);
	struct run_workspace_choice c = {
		.run = run, .session = session, .mode = mode, .dir = "/dir"};
	struct run_workspace out;

	assert_non_null(v);
	run->id = "run_1";
	run->agent = "ada";
	c.spec = v;
	if (run_workspace_choose(&out, &c, &arena, &e))
		fail_msg("%s", e.text);
	cJSON_Delete(v); /* what was chosen borrows nothing from it */
	return out;
}

static const char *const modes[] = {"disk", "vfs-scratch", "vfs-only"};

/* What a new namespace of the agent shows, if nothing else is said. */
static const char *base_of(const char *mode)
{
	return strcmp(mode, "vfs-only") ? "/dir" : NULL;
}

static void assert_same(const char *a, const char *b)
{
	if (!a || !b)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

static void a_run_comes_before_its_session_and_that_before_the_definition(
	void **state)
{
	(void)state;
	for (int m = 0; m < 3; m++)
		for (int bits = 0; bits < 8; bits++) {
			struct run_active_row run = {
				.workspace = bits & 1 ? "of-run" : NULL};
			bool defined = (bits & 4) && m > 0;
			struct run_workspace w = choose(
				&run, modes[m], bits & 2 ? "of-session" : NULL,
				defined ? "{\"namespace\":\"of-agent\"}"
					: "{}");
			const char *name = bits & 1   ? "of-run"
					   : bits & 2 ? "of-session"
					   : defined  ? "of-agent"
						      : "main";
			bool named = bits & 3;

			if (m == 0 && !named) {
				assert_string_equal(w.dir, "/dir");
				assert_true(w.share);
				continue;
			}
			assert_null(w.dir);
			assert_false(w.share);
			assert_string_equal(w.name, name);
			assert_string_equal(w.make, named ? WORKSPACE_NEVER
							  : WORKSPACE_MISSING);
			assert_same(w.base, named ? NULL : base_of(modes[m]));
		}
}

static void the_agents_own_namespace_may_be_named_and_is_created(void **state)
{
	struct run_active_row run = {.workspace = "main"};
	struct run_workspace w;

	(void)state;
	for (int m = 1; m < 3; m++) {
		w = choose(&run, modes[m], NULL, "{}");
		assert_string_equal(w.make, WORKSPACE_MISSING);
		assert_same(w.base, base_of(modes[m]));
		w = choose(&run, modes[m], NULL, "{\"namespace\":\"x\"}");
		assert_string_equal(w.make, WORKSPACE_NEVER);
	}
	w = choose(&run, "disk", NULL, "{}");
	assert_string_equal(w.make, WORKSPACE_NEVER);
}

static void a_request_for_a_new_namespace_wins_over_every_name(void **state)
{
	struct run_active_row fork = {.workspace = "run_1",
				      .fork_of = "main@s"},
			      over = {.workspace = "w", .over_dir = "/o"},
			      fresh = {.workspace = "w", .is_fresh = true},
			      ephemeral = {.workspace = "run_1",
					   .is_ephemeral = true};
	struct run_workspace w;

	(void)state;
	for (int m = 0; m < 3; m++) {
		const char *spec = m ? "{\"namespace\":\"d\"}" : "{}";

		w = choose(&fork, modes[m], "s", spec);
		assert_string_equal(w.make, WORKSPACE_ALWAYS);
		assert_string_equal(w.fork_of, "main@s");
		assert_null(w.fork_agent);
		assert_null(w.base);
		w = choose(&over, modes[m], "s", spec);
		assert_string_equal(w.base, "/o");
		assert_string_equal(w.name, "w");
		w = choose(&fresh, modes[m], "s", spec);
		assert_null(w.base);
		assert_false(w.ephemeral);
		w = choose(&ephemeral, modes[m], "s", spec);
		assert_string_equal(w.name, "run_1");
		assert_same(w.base, base_of(modes[m]));
		assert_true(w.ephemeral);
	}
}

static void a_fork_may_be_of_another_agent(void **state)
{
	struct run_active_row run = {.workspace = "w", .fork_of = "bob:x@y"};
	struct run_workspace w = choose(&run, "vfs-only", NULL, "{}");

	(void)state;
	assert_string_equal(w.fork_agent, "bob");
	assert_string_equal(w.fork_of, "x@y");
	run.fork_of = "ada:x";
	w = choose(&run, "vfs-only", NULL, "{}");
	assert_null(w.fork_agent);
	assert_string_equal(w.fork_of, "x");
}

static void a_definition_may_give_each_run_a_namespace_of_its_own(void **state)
{
	struct run_active_row run = {0};
	struct run_workspace w;

	(void)state;
	w = choose(&run, "disk", NULL, "{\"namespace\":{\"ephemeral\":true}}");
	assert_string_equal(w.name, "run_1");
	assert_string_equal(w.make, WORKSPACE_ALWAYS);
	assert_string_equal(w.base, "/dir");
	assert_true(w.ephemeral);
	w = choose(&run, "vfs-only", NULL,
		   "{\"namespace\":{\"fork_of\":\"main@clean\"}}");
	assert_string_equal(w.name, "run_1");
	assert_string_equal(w.fork_of, "main@clean");
	w = choose(&run, "vfs-only", NULL,
		   "{\"namespace\":{\"fork_of\":\"bob:main\","
		   "\"name\":\"mine\"}}");
	assert_string_equal(w.name, "mine");
	assert_string_equal(w.make, WORKSPACE_MISSING);
	assert_string_equal(w.fork_agent, "bob");
	run.workspace = "mine"; /* the same by its name */
	w = choose(&run, "vfs-only", NULL,
		   "{\"namespace\":{\"fork_of\":\"bob:main\","
		   "\"name\":\"mine\"}}");
	assert_string_equal(w.fork_agent, "bob");
}

static void sharing_is_asked_for_except_in_a_directory(void **state)
{
	struct run_active_row asks = {.is_shared = true}, plain = {0};

	(void)state;
	assert_true(choose(&asks, "vfs-only", NULL, "{}").share);
	assert_false(choose(&plain, "vfs-only", NULL, "{}").share);
	assert_true(choose(&plain, "disk", NULL, "{}").share);
	assert_false(choose(&plain, "disk", NULL,
			    "{\"namespace\":{\"share\":false}}")
			     .share);
	assert_true(choose(&plain, "vfs-only", NULL,
			   "{\"namespace\":{\"share\":true}}")
			    .share);
	assert_true(
		choose(&asks, "disk", NULL, "{\"namespace\":{\"share\":false}}")
			.share);
}

static void requests_that_contradict_themselves_are_rejected(void **state)
{
	static const char *const bad_sources[] = {
		"",   ":",   "a:",   ":b",      "a:b:c", "a@",
		"@s", "a/b", "a:b@", "a:b@c@d", "-x",    "a b",
	};

	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		struct run_request request = {.fork_of = bits & 1 ? "main"
								  : NULL,
					      .over = bits & 2 ? "/o" : NULL,
					      .fresh = bits & 4};
		bool single = (bits & (bits - 1)) == 0;

		assert_int_equal(run_workspace_check(&request, &e),
				 single ? 0 : -1);
		assert_int_equal(run_workspace_is_new(&request), bits != 0);
	}
	for (size_t i = 0; i < sizeof bad_sources / sizeof *bad_sources; i++) {
		struct run_request request = {.fork_of = bad_sources[i]};

		if (run_workspace_check(&request, &e) == 0)
			fail_msg("'%s' is accepted", bad_sources[i]);
		assert_int_equal(e.code, ERR_INVALID);
	}
	assert_int_equal(
		run_workspace_check(&(struct run_request){.over = "o"}, &e),
		-1);
	assert_int_equal(run_workspace_check(
				 &(struct run_request){.workspace = "a/b"}, &e),
			 -1);
}

static void wrong_definitions_are_rejected(void **state)
{
	static const struct {
		const char *spec, *mode;
		bool good;
	} cases[] = {
		{"{}", "disk", true},
		{"{\"namespace\":\"x\"}", "vfs-only", true},
		{"{\"namespace\":\"x\"}", "disk", false},
		{"{\"namespace\":\"x/y\"}", "vfs-only", false},
		{"{\"namespace\":1}", "vfs-only", false},
		{"{\"namespace\":{\"name\":\"x\"}}", "disk", false},
		{"{\"namespace\":{\"name\":\"x\",\"fresh\":true}}", "disk",
		 true},
		{"{\"namespace\":{\"fork_of\":\"a:b:c\"}}", "vfs-only", false},
		{"{\"namespace\":{\"over\":\"o\"}}", "vfs-only", false},
		{"{\"namespace\":{\"over\":\"/o\",\"fresh\":true}}", "vfs-only",
		 false},
		{"{\"namespace\":{\"ephemeral\":1}}", "vfs-only", false},
		{"{\"namespace\":{\"share\":true}}", "disk", true},
		{"{\"namespace\":{\"fork\":\"x\"}}", "vfs-only", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cJSON *v = json_parse_object("spec", cases[i].spec,
					     strlen(cases[i].spec), &e);

		assert_non_null(v);
		if (run_workspace_check_definition(v, cases[i].mode, &e) !=
		    (cases[i].good ? 0 : -1))
			fail_msg("%s in mode %s", cases[i].spec, cases[i].mode);
		cJSON_Delete(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_run_comes_before_its_session_and_that_before_the_definition),
		cmocka_unit_test(
			the_agents_own_namespace_may_be_named_and_is_created),
		cmocka_unit_test(
			a_request_for_a_new_namespace_wins_over_every_name),
		cmocka_unit_test(a_fork_may_be_of_another_agent),
		cmocka_unit_test(
			a_definition_may_give_each_run_a_namespace_of_its_own),
		cmocka_unit_test(sharing_is_asked_for_except_in_a_directory),
		cmocka_unit_test(
			requests_that_contradict_themselves_are_rejected),
		cmocka_unit_test(wrong_definitions_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down_arena);
}
