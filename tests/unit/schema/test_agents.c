#include "tests/support/temp.h"

#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "schema/control/agent.h"
#include "schema/control/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct home home;
static struct sql *db;
static struct arena arena;
static struct err e;

static int set_up_agents(void **state)
{
	(void)state;
	temp_make(&dir);
	snprintf(home.root, sizeof home.root, "%s/home", dir.path);
	e = (struct err){0};
	if (control_open(&db, &home, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_agents(void **state)
{
	(void)state;
	sql_close(db);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static struct agent_row plain(const char *name)
{
	return (struct agent_row){.name = name,
				  .driver = "script",
				  .workspace = "disk",
				  .is_enabled = true,
				  .spec = "{}",
				  .source = "command"};
}

static int from_text(struct agent_row *row, const char *text)
{
	cJSON *def = json_parse_object("def", text, strlen(text), &e);
	int rc = def ? agent_from_json(row, "def", def, &arena, &e) : -1;

	cJSON_Delete(def);
	return rc;
}

static void definition(const struct agent_row *row, char *out, size_t size)
{
	struct buf b = BUF_MAX(1u << 22);

	agent_to_json(row, &b);
	snprintf(out, size, "%s", b.p);
	buf_fini(&b);
}

static void a_definition_survives_the_way_through_a_row(void **state)
{
	static const char text[] =
		"{\"driver\":\"acp\",\"workspace\":\"vfs-only\","
		"\"model\":\"m\",\"prompt\":\"a\\nb\",\"enabled\":false,"
		"\"command\":[\"x\"],\"odd\":{\"n\":null}}";
	struct agent_row row = plain("a");
	char out[512];

	(void)state;
	assert_int_equal(from_text(&row, text), 0);
	definition(&row, out, sizeof out);
	assert_string_equal(out, text);
}

static void null_goes_back_to_the_default(void **state)
{
	struct agent_row row = plain("a");
	char out[512];

	(void)state;
	assert_int_equal(from_text(&row, "{\"driver\":\"exec\",\"model\":\"m\","
					 "\"x\":1,\"enabled\":false}"),
			 0);
	assert_int_equal(from_text(&row, "{\"driver\":null,\"model\":null,"
					 "\"x\":null,\"enabled\":null}"),
			 0);
	definition(&row, out, sizeof out);
	assert_string_equal(out,
			    "{\"driver\":\"script\",\"workspace\":\"disk\","
			    "\"enabled\":true}");
}

static void wrong_members_are_named(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{"{\"driver\":1}", "driver"},
		{"{\"driver\":\"x\"}", "script|exec|acp|chat"},
		{"{\"workspace\":\"x\"}", "disk|vfs-scratch|vfs-only"},
		{"{\"enabled\":\"no\"}", "enabled"},
		{"{\"name\":\"b\"}", "name"},
		{"{\"default\":1}", "default"},
		{"{\"a\":{\"b\":[{\"password\":\"p\"}]}}", "password"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct agent_row row = plain("a");

		assert_int_equal(from_text(&row, bad[i].text), -1);
		assert_int_equal(e.code, ERR_INVALID);
		if (!strstr(e.text, bad[i].word))
			fail_msg("%s: %s", bad[i].text, e.text);
	}
}

static void deep_nesting_is_refused(void **state)
{
	struct agent_row row = plain("a");
	struct buf b = BUF_MAX(4096);

	(void)state;
	buf_adds(&b, "{\"x\":");
	for (int i = 0; i < 80; i++)
		buf_addc(&b, '[');
	for (int i = 0; i < 80; i++)
		buf_addc(&b, ']');
	buf_addc(&b, '}');
	assert_int_equal(from_text(&row, b.p), -1);
	assert_non_null(strstr(e.text, "nested"));
	buf_fini(&b);
}

static void an_equal_definition_makes_no_version(void **state)
{
	struct agent_row row = plain("a");

	(void)state;
	assert_int_equal(agents_put(db, &row, &arena, &e), 1);
	assert_int_equal(row.version, 1);
	row = plain("a");
	assert_int_equal(agents_put(db, &row, &arena, &e), 0);
	assert_int_equal(row.version, 1);
	row.model = "m";
	assert_int_equal(agents_put(db, &row, &arena, &e), 1);
	assert_int_equal(row.version, 2);
	assert_true(row.is_default);
}

static void versions_count_on_after_a_removal(void **state)
{
	struct agent_row row = plain("a");

	(void)state;
	assert_int_equal(agents_put(db, &row, &arena, &e), 1);
	assert_int_equal(agents_remove(db, "a", &e), 0);
	assert_int_equal(agents_get(db, "a", &row, &arena, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	row = plain("a");
	assert_int_equal(agents_put(db, &row, &arena, &e), 1);
	assert_int_equal(row.version, 2);
}

static void there_is_one_default_and_it_can_move(void **state)
{
	struct agent_row a = plain("a"), b = plain("b"), got;

	(void)state;
	assert_int_equal(agents_get_default(db, &got, &arena, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_int_equal(agents_put(db, &a, &arena, &e), 1);
	assert_int_equal(agents_put(db, &b, &arena, &e), 1);
	assert_int_equal(agents_set_default(db, "b", &e), 0);
	assert_int_equal(agents_get_default(db, &got, &arena, &e), 0);
	assert_string_equal(got.name, "b");
	a = plain("a");
	a.model = "m";
	assert_int_equal(agents_put(db, &a, &arena, &e), 1);
	assert_int_equal(agents_get_default(db, &got, &arena, &e), 0);
	assert_string_equal(got.name, "b");
	assert_int_equal(agents_set_default(db, "none", &e), -1);
}

static void the_words_in_c_are_those_in_sql(void **state)
{
	static const struct {
		const char *column, *words;
	} both[] = {{"driver", AGENT_DRIVERS}, {"workspace", AGENT_WORKSPACES}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct buf want = BUF_MAX(256);
		const char *sql;

		buf_addf(&want, "CHECK (%s IN ('", both[i].column);
		for (const char *p = both[i].words; *p; p++)
			*p == '|' ? buf_adds(&want, "','")
				  : buf_addc(&want, *p);
		buf_adds(&want, "'))");
		assert_int_equal(
			sql_script_text(db,
					"SELECT sql FROM sqlite_master "
					"WHERE name = 'agent'",
					&arena, &sql, &e),
			0);
		if (!strstr(sql, want.p))
			fail_msg("schema and C differ: %s", want.p);
		buf_fini(&want);
	}
}

static void write_file(const char *name, const char *text)
{
	struct home_path d = home_join(&home, HOME_AGENTS, "f");
	char path[8192];

	assert_int_equal(file_make_dir(d.text, 0700, &e), 0);
	snprintf(path, sizeof path, "%s/%s", d.text, name);
	assert_int_equal(atomic_file_write(path, text, strlen(text), 0600, &e),
			 0);
}

static void what_a_file_no_longer_says_is_gone(void **state)
{
	struct agent_row row;

	(void)state;
	write_file("agent.json",
		   "{\"driver\":\"exec\",\"model\":\"m\",\"x-a\":1}");
	assert_int_equal(agents_sync(db, &home, "f", &e), 1);
	assert_int_equal(agents_sync(db, &home, "f", &e), 0);
	write_file("agent.json", "{\"driver\":\"exec\"}");
	assert_int_equal(agents_sync(db, &home, "f", &e), 1);
	assert_int_equal(agents_get(db, "f", &row, &arena, &e), 0);
	assert_null(row.model);
	assert_string_equal(row.spec, "{}");
	assert_string_equal(row.source, "file");
}

static void a_prompt_alone_defines_no_agent(void **state)
{
	(void)state;
	write_file("prompt.md", "hello");
	assert_int_equal(agents_sync(db, &home, "f", &e), 0);
	assert_int_equal(agents_sync(db, &home, "../f", &e), -1);
}

static void bad_files_are_named_and_the_good_ones_taken(void **state)
{
	struct buf bad = BUF_MAX(4096);
	struct agent_row row;

	(void)state;
	write_file("agent.json", "{\"driver\":");
	assert_int_equal(agents_sync_all(db, &home, &bad, &e), 0);
	assert_non_null(strstr(bad.p, "agent.json: line 1"));
	buf_clear(&bad);
	write_file("agent.json", "{\"driver\":\"chat\"}");
	write_file("prompt.md", "\xff");
	assert_int_equal(agents_sync_all(db, &home, &bad, &e), 0);
	assert_non_null(strstr(bad.p, "prompt.md"));
	buf_clear(&bad);
	write_file("prompt.md", "ok");
	assert_int_equal(agents_sync_all(db, &home, &bad, &e), 0);
	assert_int_equal(bad.n, 0);
	assert_int_equal(agents_get(db, "f", &row, &arena, &e), 0);
	assert_string_equal(row.prompt, "ok");
	buf_fini(&bad);
}

int main(void)
{
#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_agents, tear_down_agents)
	const struct CMUnitTest tests[] = {
		T(a_definition_survives_the_way_through_a_row),
		T(null_goes_back_to_the_default),
		T(wrong_members_are_named),
		T(deep_nesting_is_refused),
		T(an_equal_definition_makes_no_version),
		T(versions_count_on_after_a_removal),
		T(there_is_one_default_and_it_can_move),
		T(the_words_in_c_are_those_in_sql),
		T(what_a_file_no_longer_says_is_gone),
		T(a_prompt_alone_defines_no_agent),
		T(bad_files_are_named_and_the_good_ones_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
