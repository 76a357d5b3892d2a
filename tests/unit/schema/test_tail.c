/* Following a session while it grows: schema/agent/transcript/tail.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MESSAGES 200
#define PARTS    8

static struct temp dir;
static struct agent_file file, reader;

/* What a follower has put together from what it was told. */
struct seen {
	int64_t last; /* seq */
	int events;
	struct buf text[MESSAGES][PARTS];
	char state[MESSAGES][PARTS][16];
	int room; /* items until it wants no more */
};

static struct seen seen;
static char long_text[5001]; /* a few of them are a long part */

static int set_up_tail(void **state)
{
	(void)state;
	temp_make(&dir);
	for (int i = 0; i < 5000; i++)
		long_text[i] = (char)('a' + i % 26);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	test_agent_open(&reader, temp_join(&dir, "agent.sqlite"));
	seen = (struct seen){.room = 1 << 20};
	for (int m = 0; m < MESSAGES; m++)
		for (int p = 0; p < PARTS; p++)
			buf_init(&seen.text[m][p], 1 << 22);
	return 0;
}

static int tear_down_tail(void **state)
{
	(void)state;
	for (int m = 0; m < MESSAGES; m++)
		for (int p = 0; p < PARTS; p++)
			buf_fini(&seen.text[m][p]);
	agent_file_close(&reader);
	agent_file_close(&file);
	temp_remove(&dir);
	return 0;
}

/* Every event once and in order; every character once and in order. */
static int on_item(void *arg, const struct tail *t,
		   const struct tail_item *item)
{
	struct seen *s = arg;

	(void)t;
	if (item->event) {
		assert_true(item->seq > s->last);
		s->last = item->seq;
		s->events++;
	} else {
		struct buf *b = &s->text[item->seq][item->part->idx];

		assert_true(item->seq <= s->last);
		assert_int_equal(item->at, (int64_t)b->n);
		assert_int_equal(item->is_new,
				 !*s->state[item->seq][item->part->idx]);
		buf_adds(b, item->part->text);
		snprintf(s->state[item->seq][item->part->idx], 16, "%s",
			 item->part->state);
	}
	return --s->room <= 0;
}

static void read_tail(struct tail *t)
{
	struct err e = {0};
	int more;

	do {
		more = tail_read(t, &reader, on_item, &seen, &e);
		if (more < 0)
			fail_msg("%s", e.text);
	} while (more && seen.room > 0);
}

static struct tail *begin_tail(const char *run, const char *after)
{
	struct tail_options want = {.session = "s", .run = run, .after = after};
	struct tail *t;
	struct err e = {0};

	if (tail_open(&t, &want, &e))
		fail_msg("%s", e.text);
	return t;
}

/* Another follower goes on where this one stands. */
static struct tail *hand_over(struct tail *t, const char *run)
{
	struct buf cursor = BUF_MAX(1 << 16);
	struct tail *next;

	tail_cursor(t, &cursor);
	tail_close(t);
	next = begin_tail(run, cursor.p);
	buf_fini(&cursor);
	return next;
}

static void open_part(struct part *p, struct writer *w, int64_t seq)
{
	struct part_new n = {.kind = "text"};
	struct err e = {0};

	if (part_open(p, w, event_pos(w->session, seq), &n, &e))
		fail_msg("%s", e.text);
}

static void grow(struct part *p, const char *text)
{
	struct err e = {0};

	if (part_add(p, text, strlen(text), &e) < 0 || part_flush(p, &e))
		fail_msg("%s", e.text);
}

static void finish_part(struct part *p)
{
	struct part_change_new done = {.state = "done"};
	struct err e = {0};

	if (part_set(p, &done, &e))
		fail_msg("%s", e.text);
	part_close(p);
}

static void a_session_that_is_not_there_yet_is_waited_for(void **state)
{
	struct tail *t = begin_tail(NULL, NULL);
	struct writer w;

	(void)state;
	read_tail(t);
	assert_int_equal(seen.events, 0);
	test_writer_open(&w, &file, "s");
	test_append_message(&w, "a");
	read_tail(t);
	assert_int_equal(seen.events, 1);
	tail_close(t);
}

static void growth_is_told_by_what_is_new(void **state)
{
	struct tail *t = begin_tail(NULL, NULL);
	struct writer w;
	struct part p;

	(void)state;
	test_writer_open(&w, &file, "s");
	test_append_message(&w, "a");
	open_part(&p, &w, 1);
	for (int i = 0; i < 5; i++) {
		grow(&p, "h\303\251llo "); /* characters, not bytes */
		seen.text[1][0].n = (size_t)i * 6;
		read_tail(t);
	}
	finish_part(&p);
	seen.text[1][0].n = 30;
	read_tail(t);
	assert_string_equal(seen.state[1][0], "done");
	tail_close(t);
}

static void a_plain_number_gets_open_parts_from_their_start(void **state)
{
	struct tail *t;
	struct writer w;
	struct part closed, open;

	(void)state;
	test_writer_open(&w, &file, "s");
	test_append_message(&w, "a");
	open_part(&closed, &w, 1);
	grow(&closed, "done with");
	finish_part(&closed);
	open_part(&open, &w, 1);
	grow(&open, "going on");
	seen.last = 1;
	t = begin_tail(NULL, "1");
	read_tail(t);
	assert_int_equal(seen.events, 0);
	assert_string_equal(seen.state[1][0], "");
	assert_string_equal(seen.text[1][1].p, "going on");
	finish_part(&open);
	tail_close(t);
}

static void a_run_sees_its_own_events_only(void **state)
{
	struct id ida = id_new(ID_RUN), idb = id_new(ID_RUN);
	struct writer_run a = {.run_id = ida.text, .attempt = 1, .epoch = 1},
			  b = {.run_id = idb.text, .attempt = 1, .epoch = 1};
	struct tail *t = begin_tail(idb.text, NULL);
	struct writer wa, wb;
	struct err e = {0};

	(void)state;
	if (writer_open(&wa, &file, "s", &a, &e))
		fail_msg("%s", e.text);
	test_append_message(&wa, "1");
	test_append_message(&wa, "2");
	read_tail(t);
	assert_int_equal(seen.events, 0);
	if (writer_open(&wb, &file, "s", &b, &e))
		fail_msg("%s", e.text);
	test_append_message(&wb, "3");
	test_append_message(&wa, "4");
	test_append_message(&wb, "5");
	read_tail(t);
	assert_int_equal(seen.events, 2);
	assert_int_equal(seen.last, 5);
	tail_close(t);
}

static void what_is_no_cursor_is_refused(void **state)
{
	static const char *const bad[] = {
		"x",           "-1",        "1.",     "1.2:1",
		"1.1",         "1.1:",      "1.1:1,", "1.1:1,0-1",
		"1.1:1,1-1-1", "3.2:0.1:0", "1 ",     "99999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct tail_options want = {.session = "s", .after = bad[i]};
		struct tail *t;
		struct err e = {0};

		if (tail_open(&t, &want, &e) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(e.code, ERR_USAGE);
	}
}

/* Inside of a chunk, a chunk's end, and behind the first characters. */
static void a_long_part_goes_on_at_any_character(void **state)
{
	static const int at[] = {0, 1, 4999, 5000, 5001, 9999, 10000, 14999};
	struct writer w;
	struct part p;
	char cursor[48];

	(void)state;
	test_writer_open(&w, &file, "s");
	test_append_message(&w, "a");
	open_part(&p, &w, 1);
	for (int i = 0; i < 3; i++)
		grow(&p, long_text);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM part_chunk"),
			 2);
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		struct tail *t;

		snprintf(cursor, sizeof cursor, "1.1:1,0-%d-1", at[i]);
		buf_clear(&seen.text[1][0]);
		for (int n = 0; n < at[i]; n++)
			buf_addc(&seen.text[1][0], '.');
		seen.last = 1;
		seen.state[1][0][0] = 'x';
		t = begin_tail(NULL, cursor);
		read_tail(t);
		assert_int_equal(seen.text[1][0].n, 15000);
		assert_memory_equal(seen.text[1][0].p + at[i],
				    long_text + at[i] % 5000,
				    (size_t)(5000 - at[i] % 5000));
		tail_close(t);
	}
	finish_part(&p);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM part_chunk"),
			 0);
}

/* One step of a writer that does anything a driver may do. */
struct life {
	struct writer w;
	struct part open[4];
	bool is_open[4];
	int64_t message;
	int parts;
};

static void live(struct life *l)
{
	int i = rand() % 4;

	switch (rand() % 6) {
	case 0:
		if (l->w.tail < MESSAGES - 1) {
			l->message = test_append_message(&l->w, "m");
			l->parts = 0;
		}
		break;
	case 1:
	case 2:
		if (!l->is_open[i] && l->message && l->parts < PARTS) {
			open_part(&l->open[i], &l->w, l->message);
			l->is_open[i] = true;
			l->parts++;
		}
		break;
	case 3:
		if (l->is_open[i])
			finish_part(&l->open[i]);
		l->is_open[i] = false;
		break;
	default:
		if (l->is_open[i])
			grow(&l->open[i], rand() % 2 ? long_text : "xyz");
	}
}

static void compare_with_rows(struct agent_file *f)
{
	int64_t session = 1;

	for (int64_t seq = 1; seq <= seen.last; seq++) {
		struct arena a = {0};
		struct part_row *rows;
		struct err e = {0};
		int n = part_read(f, event_pos(session, seq), &rows, &a, &e);

		for (int i = 0; i < n; i++) {
			assert_string_equal(seen.text[seq][i].p, rows[i].text);
			assert_string_equal(seen.state[seq][i], rows[i].state);
		}
		arena_fini(&a);
	}
}

/* Whenever it looks, however little it takes at once, and however often it is
 * replaced by another: nothing is lost and nothing comes twice. */
static void a_follower_loses_and_doubles_nothing(void **state)
{
	struct tail *t = begin_tail(NULL, NULL);
	struct life l = {0};

	(void)state;
	srand(7);
	test_writer_open(&l.w, &file, "s");
	for (int step = 0; step < 3000; step++) {
		live(&l);
		if (rand() % 3 == 0) {
			seen.room = 1 + rand() % 4;
			read_tail(t);
		}
		if (rand() % 5 == 0)
			t = hand_over(t, NULL);
	}
	for (int i = 0; i < 4; i++)
		if (l.is_open[i])
			finish_part(&l.open[i]);
	seen.room = 1 << 20;
	read_tail(t);
	assert_int_equal(seen.last, l.w.tail);
	assert_int_equal(seen.events, l.w.tail);
	compare_with_rows(&file);
	tail_close(t);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_tail, tear_down_tail)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_session_that_is_not_there_yet_is_waited_for),
		T(growth_is_told_by_what_is_new),
		T(a_plain_number_gets_open_parts_from_their_start),
		T(a_run_sees_its_own_events_only),
		T(what_is_no_cursor_is_refused),
		T(a_long_part_goes_on_at_any_character),
		T(a_follower_loses_and_doubles_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
