/*
 * Power failures. Verbs run on an agent file and a control plane while every
 * write and sync is recorded; then the files are made as a failure at any moment
 * may leave them, opened, and asked for everything acknowledged before it.
 */
#include "tests/support/agent.h"
#include "tests/support/record_vfs.h"
#include "tests/support/temp.h"

#include "base/file.h"
#include "schema/agents.h"
#include "schema/control.h"
#include "schema/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define STEPS     120
#define CUTS      300
#define FACTS_MAX (STEPS * 2)

struct fact { /* true in `file` from a moment on */
	size_t from;
	const char *file;
	char sql[160];
};

static struct temp dir;
static struct home home;
static struct fact facts[FACTS_MAX];
static int nfacts, pending; /* pending: from this fact on not yet durable */
static uint64_t seed = 88172645463325252u;
static struct agent_file agent;
static struct writer writer;
static struct sql *control;

static unsigned draw(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % below);
}

__attribute__((format(printf, 2, 3))) static void promise(const char *file,
							  const char *fmt, ...)
{
	struct fact *f = &facts[nfacts++];
	va_list ap;

	assert_true(nfacts < FACTS_MAX);
	f->file = file;
	f->from = SIZE_MAX;
	va_start(ap, fmt);
	vsnprintf(f->sql, sizeof f->sql, fmt, ap);
	va_end(ap);
}

/* A durable commit of the agent's file covers its relaxed ones. */
static void acknowledge(void)
{
	for (; pending < nfacts; pending++)
		if (facts[pending].from == SIZE_MAX)
			facts[pending].from = record_count();
}

static void say(int n, bool durable)
{
	char *body = malloc(40000);
	size_t at, fill = draw(2) ? draw(400) : draw(30000);
	struct event_new ev = {
		.type = "message", .body = body, .parent = WRITER_LEAF};
	struct event_ref ref;
	struct err e;

	assert_non_null(body);
	at = (size_t)snprintf(body, 64, "{\"n\":\"n%d.\",\"content\":\"", n);
	memset(body + at, 'x', fill);
	memcpy(body + at + fill, "\"}", 3);
	assert_int_equal(durable ? writer_append(&writer, &ev, &ref, &e)
				 : writer_stream(&writer, &ev, 1, &ref, &e),
			 0);
	free(body);
	promise("agent.sqlite",
		"SELECT count(*) FROM event WHERE body LIKE "
		"'{\"n\":\"n%d.\"%%'",
		n);
	if (durable)
		acknowledge();
}

static void patch(int n)
{
	struct session_row row;
	struct arena a = {0};
	struct err e;
	char text[64];

	snprintf(text, sizeof text, "{\"meta\":{\"k%d\":1}}", n);
	assert_int_equal(session_patch(&agent, "s", text, 0, &row, &a, &e), 0);
	arena_fini(&a);
	promise("agent.sqlite",
		"SELECT json_extract(meta, '$.k%d') FROM session", n);
	acknowledge();
}

static void put_value(int n)
{
	char key[16];
	struct err e;

	snprintf(key, sizeof key, "k%d", n);
	assert_int_equal(sql_enter(control, &e), 0);
	assert_int_equal(
		sql_leave(control,
			  control_kv_put(control, "s", key, "v", OPT_NONE, &e),
			  &e),
		0);
	promise("skep.sqlite", "SELECT count(*) FROM kv WHERE key = 'k%d'", n);
	facts[nfacts - 1].from = record_count();
}

static void add_agent(int n)
{
	struct arena a = {0};
	char name[16];
	struct agent_row row = {.name = name,
				.driver = "script",
				.workspace = "disk",
				.is_enabled = true,
				.spec = "{}",
				.source = "command"};
	struct err e;

	snprintf(name, sizeof name, "a%d", n);
	assert_true(agents_put(control, &row, &a, &e) >= 0);
	arena_fini(&a);
	promise("skep.sqlite", "SELECT count(*) FROM agent WHERE name = 'a%d'",
		n);
	facts[nfacts - 1].from = record_count();
}

static void open_agent(void)
{
	test_agent_open(&agent, temp_join(&dir, "agent.sqlite"));
	test_writer_open(&writer, &agent, "s");
}

static void step(int n)
{
	switch (draw(8)) {
	case 0:
	case 1:
		say(n, true);
		break;
	case 2:
	case 3:
		say(n, false);
		break;
	case 4:
		patch(n);
		break;
	case 5:
		put_value(n);
		break;
	case 6:
		add_agent(n);
		break;
	default: /* the last one to close copies the log into the file */
		agent_file_close(&agent);
		open_agent();
	}
}

static void record_work(void)
{
	struct err e;

	temp_make(&dir);
	assert_int_equal(home_find(&home, temp_join(&dir, "home"), &e), 0);
	record_start();
	open_agent();
	assert_int_equal(control_open(&control, &home, SQL_CREATE, &e), 0);
	for (int n = 0; n < STEPS; n++)
		step(n);
	say(STEPS, true);
	record_stop();
	agent_file_close(&agent);
	sql_close(control);
	temp_remove(&dir);
}

static void check_file(const struct temp *at, const char *file, size_t cut)
{
	struct arena a = {0};
	const char *said;
	struct sql *db;
	struct err e;

	if (file_size(temp_join(at, file)) <= 0)
		return; /* facts are counted by check_cut */
	if (sql_open(&db, temp_join(at, file), NULL, 0, &e) ||
	    sql_script_text(db, "PRAGMA integrity_check", &a, &said, &e))
		fail_msg("cut at %zu: %s", cut, e.text);
	assert_string_equal(said, "ok");
	for (int i = 0; i < nfacts; i++) {
		int64_t n = 0;

		if (facts[i].from > cut || strcmp(facts[i].file, file) != 0)
			continue;
		if (sql_script_i64(db, facts[i].sql, &n, &e) || n != 1)
			fail_msg("cut at %zu: lost: %s", cut, facts[i].sql);
	}
	sql_close(db);
	arena_fini(&a);
}

static bool promised(const char *file, size_t cut)
{
	for (int i = 0; i < nfacts; i++)
		if (facts[i].from <= cut && !strcmp(facts[i].file, file))
			return true;
	return false;
}

static void check_cut(size_t cut, uint64_t chance)
{
	static const char *const files[] = {"agent.sqlite", "skep.sqlite"};
	struct temp at;

	temp_make(&at);
	record_replay(at.path, cut, chance);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		if (promised(files[i], cut))
			assert_true(file_size(temp_join(&at, files[i])) > 0);
		check_file(&at, files[i], cut);
	}
	temp_remove(&at);
}

static void what_was_acknowledged_survives_a_power_failure(void **state)
{
	size_t count;

	(void)state;
	record_work();
	count = record_count();
	for (size_t i = 0; i <= CUTS; i++)
		check_cut(count * i / CUTS, i % 3 ? draw(1u << 30) + 1 : 0);
	record_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_was_acknowledged_survives_a_power_failure),
	};

	record_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
