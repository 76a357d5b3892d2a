/* A million events go in and come back while the process stays small. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/transcript/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define EVENTS     1000000
#define BATCH      500
#define RSS_MAX_KB (20 * 1000)

static struct temp dir;

static long rss_peak_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof line, f))
		(void)!sscanf(line, "VmHWM: %ld", &kb);
	fclose(f);
	return kb;
}

static void append_all(struct agent_file *f)
{
	static struct event_new batch[BATCH];
	static struct event_ref refs[BATCH];
	static char bodies[BATCH][512];
	struct writer w;
	struct err e = {0};

	test_writer_open(&w, f, "s");
	for (int i = 0; i < EVENTS; i++) {
		int k = i % BATCH;

		snprintf(bodies[k], sizeof bodies[k],
			 "{\"role\":\"user\",\"content\":\"%0460d\"}", i);
		batch[k] = (struct event_new){.type = "message",
					      .body = bodies[k],
					      .parent = WRITER_LEAF};
		if (k == BATCH - 1 &&
		    writer_append_batch(&w, batch, BATCH, refs, &e))
			fail_msg("%s", e.text);
	}
	assert_int_equal(w.tail, EVENTS);
}

static void read_events(struct agent_file *f)
{
	struct history h;
	struct page p = {.more = true};
	struct arena a = {0}, one = {0};
	struct err e = {0};
	int64_t seq = 0;
	char expected[512];

	if (history_load(f, 1, HISTORY_PATH, &h, &a, &e))
		fail_msg("%s", e.text);
	while (p.more) {
		arena_reset(&one);
		if (history_forward(f, &h, seq, 1000, &p, &one, &e))
			fail_msg("%s", e.text);
		for (int i = 0; i < p.count; i++) {
			snprintf(expected, sizeof expected,
				 "{\"role\":\"user\",\"content\":\"%0460d\"}",
				 (int)seq);
			assert_int_equal(p.events[i].seq, ++seq);
			assert_string_equal(p.events[i].body, expected);
		}
	}
	assert_int_equal(seq, EVENTS);
	arena_fini(&one);
	arena_fini(&a);
}

static void a_million_events_take_less_than_20_megabytes(void **state)
{
	struct agent_file f;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("skipped: memory of a sanitizer build says nothing\n");
	skip();
#endif
	test_agent_open(&f, temp_join(&dir, "agent.sqlite"));
	append_all(&f);
	read_events(&f);
	agent_file_close(&f);
	print_message("  at most %ld kB\n", rss_peak_kb());
	assert_in_range(rss_peak_kb(), 1, RSS_MAX_KB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_events_take_less_than_20_megabytes),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
