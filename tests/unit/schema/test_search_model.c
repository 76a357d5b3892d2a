/*
 * The index stays in step: whatever is done to the transcripts, a search finds
 * exactly what a scan with LIKE over the visible events finds.
 */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/search/search.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SESSIONS 6
#define WORDS    12
#define STEPS    1500
#define FOUND    1000

static struct temp dir;
static struct agent_file file;
static uint32_t seed;

static int dice(int sides)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 8) % (uint32_t)sides);
}

static const char *session_key(void)
{
	static const char *const keys[SESSIONS] = {"s0", "s1", "s2",
						   "s3", "s4", "s5"};

	return keys[dice(SESSIONS)];
}

/* Words of one length, so that none is a part of another. */
static const char *words(void)
{
	static char text[64];

	snprintf(text, sizeof text, "w%02dx w%02dx", dice(WORDS), dice(WORDS));
	return text;
}

static int64_t some_event(void)
{
	return test_number(&file,
			   "SELECT pos FROM event WHERE pos >= "
			   "(SELECT min(pos) + %d FROM event) "
			   "ORDER BY abs(pos * %d %% 1009) LIMIT 1",
			   dice(30), dice(1000) + 1);
}

/* --- what can be done to transcripts ---------------------------------- */

static void append_random(void)
{
	struct writer w;

	test_writer_open(&w, &file, session_key());
	for (int i = dice(4); i >= 0; i--)
		test_append_message(&w, words());
}

static void edit(void)
{
	test_sql(&file,
		 "UPDATE event SET body = '{\"content\":\"%s\"}' "
		 "WHERE pos = %lld",
		 words(), (long long)some_event());
}

static void delete_event(void)
{
	test_sql(&file, "DELETE FROM event WHERE pos = %lld",
		 (long long)some_event());
}

static void add_random_part(void)
{
	test_sql(&file,
		 "INSERT OR IGNORE INTO part (pos, idx, kind, state, text, "
		 "input, created_at, updated_at) SELECT pos, %d, 'tool', '%s', "
		 "'%s', '{\"q\":\"%s\"}', 1, 1 FROM event WHERE pos = %lld",
		 dice(3), dice(2) ? "streaming" : "done", words(), words(),
		 (long long)some_event());
}

static void grow_parts(void)
{
	test_sql(&file,
		 "UPDATE part SET text = text || ' %s' "
		 "WHERE state = 'streaming' AND pos %% 3 = %d",
		 words(), dice(3));
}

static void close_parts(void)
{
	test_sql(&file,
		 "UPDATE part SET state = 'done', output = '[\"%s\"]' "
		 "WHERE state = 'streaming' AND pos %% 2 = %d",
		 words(), dice(2));
}

static void drop_parts(void)
{
	test_sql(&file, "DELETE FROM part WHERE pos = %lld",
		 (long long)some_event());
}

static void rewind_some(void)
{
	struct err e; /* there may be no such session, or no such event */

	session_rewind(&file, session_key(), dice(8), &e);
}

static void restore(void)
{
	struct err e;

	session_restore(&file, session_key(), &e);
}

static void fork_some(void)
{
	struct fork_new n = {.from = session_key(),
			     .key = session_key(),
			     .at = dice(6),
			     .copy = dice(3) == 0};
	struct session_row row;
	struct arena a = {0};
	struct err e;

	session_fork(&file, &n, &row, &a, &e);
	arena_fini(&a);
}

static void delete_session(void)
{
	struct err e;

	session_delete(&file, session_key(), &e);
}

static void archive(void)
{
	struct session_row row;
	struct arena a = {0};
	struct err e;

	session_patch(&file, session_key(),
		      dice(3) ? "{\"status\":\"active\"}"
			      : "{\"status\":\"archived\"}",
		      0, &row, &a, &e);
	arena_fini(&a);
}

static void rebuild(void)
{
	struct err e = {0};

	if (search_rebuild(&file, &e) < 0)
		fail_msg("%s", e.text);
}

/* --- the scan --------------------------------------------------------- */

struct found {
	int64_t pos[FOUND];
	int n;
};

static void add_found(struct found *f, int64_t pos)
{
	for (int i = 0; i < f->n; i++)
		if (f->pos[i] == pos)
			return;
	assert_in_range(f->n, 0, FOUND - 1);
	f->pos[f->n++] = pos;
}

static void scan_stretch(const struct segment *s, const char *word,
			 struct found *f)
{
	struct arena a = {0};
	struct err e = {0};
	char sql[1024];
	const char *list;

	snprintf(sql, sizeof sql,
		 "SELECT group_concat(pos) FROM event e WHERE pos BETWEEN %lld "
		 "AND %lld AND (body LIKE '%%%s%%' OR EXISTS (SELECT 1 FROM "
		 "part p WHERE p.pos = e.pos AND p.text || coalesce(p.input, "
		 "'') || coalesce(p.output, '') LIKE '%%%s%%'))",
		 (long long)event_pos(s->session, s->first),
		 (long long)event_pos(s->session, s->last), word, word);
	if (sql_script_text(file.db, sql, &a, &list, &e))
		fail_msg("%s", e.text);
	while (*list) {
		char *end;

		add_found(f, strtoll(list, &end, 10));
		list = end + strspn(end, ",");
	}
	arena_fini(&a);
}

static void scan(const char *key, const char *word, enum history_view view,
		 struct found *f)
{
	struct session_row row;
	struct history h;
	struct arena a = {0};
	struct err e = {0};

	if (session_get(&file, key, &row, &a, &e) == 1) {
		if (history_load(&file, row.id, view, &h, &a, &e))
			fail_msg("%s", e.text);
		for (int i = 0; i < h.count; i++)
			scan_stretch(&h.segments[i], word, f);
	}
	arena_fini(&a);
}

static bool is_active(int session)
{
	return test_number(&file,
			   "SELECT count(*) FROM session WHERE key = 's%d' "
			   "AND status = 'active'",
			   session) == 1;
}

static int by_pos(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void compare_with_scan(const struct search *s, struct found *scanned)
{
	static struct found searched;
	struct search_hit *hits;
	struct arena a = {0};
	struct err e = {0};

	searched.n = search_run(&file, s, &hits, &a, &e);
	if (searched.n < 0)
		fail_msg("%s", e.text);
	for (int i = 0; i < searched.n; i++)
		searched.pos[i] = hits[i].pos;
	qsort(searched.pos, (size_t)searched.n, sizeof(int64_t), by_pos);
	qsort(scanned->pos, (size_t)scanned->n, sizeof(int64_t), by_pos);
	assert_int_equal(searched.n, scanned->n);
	assert_memory_equal(searched.pos, scanned->pos,
			    (size_t)scanned->n * sizeof(int64_t));
	arena_fini(&a);
}

static void check_search(void)
{
	static struct found found;
	enum history_view view = dice(2) ? HISTORY_LOG : HISTORY_PATH;
	struct search s = {.count = FOUND,
			   .flags = view == HISTORY_LOG ? SEARCH_HIDDEN : 0};
	struct err e;
	struct session_row row;
	struct arena a = {0};
	char word[8], key[8];

	snprintf(word, sizeof word, "w%02dx", dice(WORDS));
	s.query = word;
	found.n = 0;
	for (int i = 0; i < SESSIONS; i++) {
		snprintf(key, sizeof key, "s%d", i);
		if (is_active(i))
			scan(key, word, view, &found);
	}
	compare_with_scan(&s, &found);
	found.n = 0;
	s.session = session_key();
	if (session_get(&file, s.session, &row, &a, &e) == 1) {
		scan(s.session, word, view, &found);
		compare_with_scan(&s, &found);
	}
	arena_fini(&a);
}

static void a_search_finds_what_a_scan_finds(void **state)
{
	static const struct {
		void (*run)(void);
		int weight;
	} acts[] = {
		{append_random, 12},  {edit, 4},         {delete_event, 2},
		{add_random_part, 6}, {grow_parts, 3},   {close_parts, 2},
		{drop_parts, 1},      {rewind_some, 3},  {restore, 2},
		{fork_some, 3},       {archive, 2},      {delete_session, 1},
		{rebuild, 1},         {check_search, 12}};

	(void)state;
	for (seed = 1; seed <= 3; seed++) {
		uint32_t was = seed;

		temp_make(&dir);
		test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
		append_random();
		for (int step = 0; step < STEPS; step++) {
			int at = dice(54), i = 0;

			while (at >= acts[i].weight)
				at -= acts[i++].weight;
			acts[i].run();
		}
		check_search();
		test_integrity(&file);
		agent_file_close(&file);
		temp_remove(&dir);
		seed = was;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_finds_what_a_scan_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
