/* What C, SQL and the documents say about the schema is the same. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "lib/os/file.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session.h"
#include "schema/control_queries.h"
#include "schema/vocab.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct arena mem;

static const struct {
	const char *name;
	const char *heading; /* in docs/SCHEMA.md */
	const struct db_schema *schema;
} databases[] = {
	{"agent", "## Agent file", &agent_schema},
	{"control", "## Control plane", &control_schema},
};

static struct sql *open_database(size_t i)
{
	struct sql *db = NULL;
	struct err e = {0};

	if (db_open(&db, temp_join(&dir, databases[i].name),
		    databases[i].schema, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return db;
}

static const char *query_text(struct sql *db, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *query_text(struct sql *db, const char *fmt, ...)
{
	const char *out = NULL;
	struct err e = {0};
	char sql[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sql, sizeof sql, fmt, ap);
	va_end(ap);
	if (sql_script_text(db, sql, &mem, &out, &e))
		fail_msg("%s", e.text);
	return out;
}

#define TABLES                                          \
	"FROM sqlite_schema WHERE type = 'table' "      \
	"AND name NOT GLOB 'sqlite_*' AND name NOT IN " \
	"(SELECT name FROM pragma_table_list WHERE type = 'shadow')"

/* --- vocabularies ----------------------------------------------------- */

static size_t seen; /* CHECKs with words, in all tables */

/* Compares what is quoted up to the next bracket. */
static void compare_words(const char *database, const char *table,
			  const char *column, const char *list)
{
	struct buf words = BUF_MAX(4096), name = BUF_MAX(256);
	const struct vocab *v;
	bool inside = false;

	buf_addf(&name, "%s.%s", table, column);
	for (const char *p = list; *p && (inside || *p != ')'); p++)
		if (*p == '\'') {
			inside = !inside;
			if (inside && words.n)
				buf_addc(&words, '|');
		} else if (inside) {
			buf_addc(&words, *p);
		}
	v = vocab_find(name.p);
	if (!v || strcmp(v->database, database) != 0)
		fail_msg("vocab.def lacks %s (%s)", name.p, database);
	else if (strcmp(v->words, words.p) != 0)
		fail_msg("%s: SQL has %s, vocab.def has %s", name.p, words.p,
			 v->words);
	seen++;
	buf_fini(&words);
	buf_fini(&name);
}

/* Every "column IN ('…" of a CREATE TABLE. */
static void find_lists(const char *database, const char *table, const char *sql)
{
	for (const char *p = sql; (p = strstr(p, " IN")) != NULL; p += 3) {
		const char *list = p + 3, *end = p, *word;

		list += strspn(list, " \n\t");
		if (*list++ != '(' || list[strspn(list, " \n\t")] != '\'')
			continue;
		for (word = end;
		     isalnum((unsigned char)word[-1]) || word[-1] == '_';
		     word--)
			;
		compare_words(database, table,
			      arena_textn(&mem, word, (size_t)(end - word)),
			      list);
	}
}

/* And every "CHECK (column = '… OR column = '…", which SQLite tests without
 * making a table of it: for rows that change often. */
static void find_alternatives(const char *database, const char *table,
			      const char *sql)
{
	for (const char *p = sql; (p = strstr(p, "CHECK (")) != NULL;) {
		size_t n = strcspn(p += 7, " ");

		if (!strncmp(p + n, " = '", 4))
			compare_words(database, table, arena_textn(&mem, p, n),
				      p);
	}
}

static void each_table(struct sql *db,
		       void (*act)(struct sql *, size_t, const char *),
		       size_t i)
{
	const char *names = query_text(db, "SELECT group_concat(name) " TABLES);

	while (*names) {
		size_t n = strcspn(names, ",");

		act(db, i, arena_textn(&mem, names, n));
		names += n + (names[n] == ',');
	}
}

static void check_vocabularies(struct sql *db, size_t i, const char *table)
{
	const char *sql = query_text(
		db, "SELECT sql FROM sqlite_schema WHERE name = '%s'", table);

	find_lists(databases[i].name, table, sql);
	find_alternatives(databases[i].name, table, sql);
}

static void every_word_that_sql_takes_is_known_to_c(void **state)
{
	(void)state;
	seen = 0;
	for (size_t i = 0; i < 2; i++) {
		struct sql *db = open_database(i);

		each_table(db, check_vocabularies, i);
		sql_close(db);
	}
	/* and the other way: what is in vocab.def was seen in SQL */
	assert_int_equal(seen, vocab_count);
}

static void a_name_stands_for_one_vocabulary(void **state)
{
	(void)state;
	for (size_t i = 0; i < vocab_count; i++)
		assert_ptr_equal(
			vocab_find(arena_printf(&mem, "%s.%s", vocabs[i].table,
						vocabs[i].column)),
			&vocabs[i]);
	assert_null(vocab_find("session"));
	assert_null(vocab_find("session.stat"));
	assert_null(vocab_find("session.status2"));
}

static void a_wrong_word_is_refused_by_both_layers_with_the_list(void **state)
{
	struct agent_file f;
	struct session_row row;
	struct writer w;
	struct part p;
	struct err e = {0};

	(void)state;
	test_agent_open(&f, temp_join(&dir, "words"));
	test_writer_open(&w, &f, "chat");
	assert_int_equal(session_patch(&f, "chat", "{\"status\":\"gone\"}", 0,
				       &row, &mem, &e),
			 -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_string_equal(e.text,
			    "'gone' is not a valid session status: active, "
			    "archived or deleted");
	assert_int_equal(
		sql_script(f.db, "UPDATE session SET status = 'gone'", &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_non_null(strstr(e.text, "'active','archived','deleted'"));
	assert_int_equal(
		part_open(&p, &w,
			  event_pos(w.session, test_append_message(&w, "x")),
			  &(struct part_new){.kind = "poem"}, &e),
		-1);
	assert_non_null(strstr(e.text, "text, reasoning, tool, file or data"));
	part_close(&p);
	assert_int_equal(vocab_check("session.status", NULL, &e), -1);
	assert_int_equal(vocab_check("session.status", "active|archived", &e),
			 -1);
	assert_int_equal(vocab_check("session.status", "deleted", &e), 0);
	agent_file_close(&f);
}

static void states_of_runs_are_those_of_the_column(void **state)
{
	static const char *const states[] = {
#define RUN_STATE(name, word, kind) word,
#include "schema/control/run_state.def"
#undef RUN_STATE
	};
	struct buf words = BUF_MAX(1024);

	(void)state;
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		buf_addf(&words, "%s%s", i ? "|" : "", states[i]);
	assert_string_equal(words.p, vocab_find("run.state")->words);
	buf_fini(&words);
}

/* --- docs/SCHEMA.md --------------------------------------------------- */

static const char *document;

static void read_document(void)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err e = {0};

	if (file_read(SKEP_SOURCE_DIR "/docs/SCHEMA.md", &b, &e))
		fail_msg("%s", e.text);
	document = arena_text(&mem, b.p);
	buf_fini(&b);
}

/* The lines below a heading, to the next one. */
static const char *section(const char *heading)
{
	const char *from = strstr(document, heading), *to;

	assert_non_null(from);
	from += strlen(heading);
	to = strstr(from, "\n## ");
	return arena_textn(&mem, from, to ? (size_t)(to - from) : strlen(from));
}

static void check_is_listed(struct sql *db, size_t i, const char *table)
{
	(void)db;
	if (!strstr(section(databases[i].heading),
		    arena_printf(&mem, "\n- `%s`:", table)))
		fail_msg("docs/SCHEMA.md lacks `%s`", table);
}

static bool has_column(struct sql *db, const char *table, const char *column)
{
	return *query_text(db,
			   "SELECT name FROM pragma_table_info('%s') "
			   "WHERE name = '%s'",
			   table, column) != '\0';
}

/* "column" of the line's table, or "table.column". */
static void check_column(struct sql *db, const char *table, char *word)
{
	char *dot = strchr(word, '.');

	if (dot) {
		*dot = '\0';
		table = word;
		word = dot + 1;
	}
	if (!has_column(db, table, word))
		fail_msg("docs/SCHEMA.md: `%s` has no `%s`", table, word);
}

/* - `table`: words, `column`, words. Split at the backquotes, every second
 * piece is a name. */
static void check_table_line(struct sql *db, char *line)
{
	char *save = NULL, *table, *name;

	strtok_r(line, "`", &save);
	table = strtok_r(NULL, "`", &save);
	if (!*query_text(db, "SELECT name FROM sqlite_schema WHERE name = '%s'",
			 table))
		fail_msg("docs/SCHEMA.md: there is no table `%s`", table);
	while (strtok_r(NULL, "`", &save) &&
	       (name = strtok_r(NULL, "`", &save)) != NULL)
		check_column(db, table, name);
}

static void tables_and_columns_in_the_documents_exist(void **state)
{
	(void)state;
	read_document();
	for (size_t i = 0; i < 2; i++) {
		struct sql *db = open_database(i);
		char *save = NULL, *text;

		each_table(db, check_is_listed, i);
		text = arena_text(&mem, section(databases[i].heading));
		for (char *p = text; (p = strstr(p, "\n  ")) != NULL;)
			*p = ' '; /* an item may be wrapped */
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (strncmp(line, "- `", 3) == 0)
				check_table_line(db, line);
		sql_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_that_sql_takes_is_known_to_c),
		cmocka_unit_test(a_name_stands_for_one_vocabulary),
		cmocka_unit_test(
			a_wrong_word_is_refused_by_both_layers_with_the_list),
		cmocka_unit_test(states_of_runs_are_those_of_the_column),
		cmocka_unit_test(tables_and_columns_in_the_documents_exist),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	arena_fini(&mem);
	return bad;
}
