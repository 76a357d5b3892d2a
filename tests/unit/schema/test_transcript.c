/* Appending and reading: schema/agent/transcript/writer.h,
 * schema/agent/transcript/history.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "lib/base/clock.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct agent_file file;

static int set_up_transcript(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	return 0;
}

static int tear_down_transcript(void **state)
{
	(void)state;
	agent_file_close(&file);
	temp_remove(&dir);
	return 0;
}

static int add_event(struct writer *w, const char *key, const char *body,
		     struct event_ref *ref, struct err *e)
{
	return writer_append(w,
			     &(struct event_new){.type = "message",
						 .key = key,
						 .body = body,
						 .parent = WRITER_LEAF},
			     ref, e);
}

static void the_same_key_and_content_is_taken_once(void **state)
{
	struct event_ref first, again;
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "s");
	assert_int_equal(add_event(&w, "k1", "{\"a\":1}", &first, &e), 0);
	test_append_message(&w, "x");
	assert_int_equal(add_event(&w, "k1", "{\"a\":1}", &again, &e), 0);
	assert_true(again.repeated);
	assert_int_equal(again.seq, first.seq);
	assert_int_equal(w.tail, 2);
}

static void the_same_key_with_other_content_is_a_named_conflict(void **state)
{
	struct event_ref ref;
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "s");
	assert_int_equal(add_event(&w, "k1", "{\"a\":1}", &ref, &e), 0);
	assert_int_equal(add_event(&w, "k1", "{\"a\":2}", &ref, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "k1"));
	assert_int_equal(test_append_message(&w, "next"), 2);
}

static void the_same_key_in_two_sessions_is_two_events(void **state)
{
	struct event_ref ref;
	struct writer a, b;
	struct err e = {0};

	(void)state;
	test_writer_open(&a, &file, "a");
	test_writer_open(&b, &file, "b");
	assert_int_equal(add_event(&a, "k", "{}", &ref, &e), 0);
	assert_int_equal(add_event(&b, "k", "{\"x\":1}", &ref, &e), 0);
	assert_false(ref.repeated);
}

static void a_type_nobody_knows_is_kept_with_its_word(void **state)
{
	struct event_ref ref;
	struct session_row s;
	struct history h;
	struct page p;
	struct writer w;
	struct arena a = {0};
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "s");
	assert_int_equal(writer_append(&w,
				       &(struct event_new){.type = "hologram",
							   .body = "{}"},
				       &ref, &e),
			 0);
	assert_int_equal(session_need(&file, "s", &s, &a, &e), 0);
	assert_int_equal(history_load(&file, s.id, HISTORY_LOG, &h, &a, &e), 0);
	assert_int_equal(history_forward(&file, &h, 0, 10, &p, &a, &e), 0);
	assert_string_equal(p.events[0].type, "hologram");
	arena_fini(&a);
}

static void the_table_of_types_and_the_c_list_are_the_same(void **state)
{
	struct arena a = {0};
	struct err e = {0};
	int64_t n;

	(void)state;
	assert_int_equal(sql_script_i64(file.db,
					"SELECT count(*) FROM event_type", &n,
					&e),
			 0);
	assert_int_equal(n, EVENT_TYPES);
	for (int i = 0; i < EVENT_TYPES; i++) {
		const char *name;
		char query[80];

		snprintf(query, sizeof query,
			 "SELECT name FROM event_type WHERE id=%d", i);
		assert_int_equal(sql_script_text(file.db, query, &a, &name, &e),
				 0);
		assert_string_equal(name, event_type_name(i));
	}
	arena_fini(&a);
}

static void two_writers_of_one_session_share_its_numbers(void **state)
{
	struct agent_file other;
	struct writer a, b;

	(void)state;
	test_agent_open(&other, temp_join(&dir, "agent.sqlite"));
	test_writer_open(&a, &file, "s");
	test_writer_open(&b, &other, "s");
	for (int i = 0; i < 10; i++) {
		assert_int_equal(test_append_message(&a, "a"), 2 * i + 1);
		assert_int_equal(test_append_message(&b, "b"), 2 * i + 2);
	}
	assert_string_equal(test_path(&file, "s"),
			    "a b a b a b a b a b a b a b a b a b a b");
	agent_file_close(&other);
}

static void two_writers_on_one_connection_do_so_too(void **state)
{
	struct writer a, b;

	(void)state;
	test_writer_open(&a, &file, "s");
	test_writer_open(&b, &file, "s");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(test_append_message(&a, "a"), 2 * i + 1);
		assert_int_equal(test_append_message(&b, "b"), 2 * i + 2);
	}
}

static void pages_from_either_end_give_every_event_once(void **state)
{
	struct session_row s;
	struct history h;
	struct page p;
	struct writer w;
	struct arena a = {0};
	struct err e = {0};
	int64_t at = 0;
	int n = 0;

	(void)state;
	test_writer_open(&w, &file, "s");
	for (int i = 0; i < 25; i++)
		test_append_message(&w, "x");
	assert_int_equal(session_need(&file, "s", &s, &a, &e), 0);
	assert_int_equal(history_load(&file, s.id, HISTORY_PATH, &h, &a, &e),
			 0);
	do {
		assert_int_equal(history_forward(&file, &h, at, 7, &p, &a, &e),
				 0);
		for (int i = 0; i < p.count; i++, n++)
			assert_int_equal(p.events[i].seq, ++at);
	} while (p.more);
	assert_int_equal(n, 25);
	at = 0;
	do {
		assert_int_equal(history_backward(&file, &h, at, 7, &p, &a, &e),
				 0);
		for (int i = 0; i < p.count; i++, n--) {
			assert_int_equal(p.events[i].seq, n);
			at = p.events[i].seq;
		}
	} while (p.more);
	assert_int_equal(n, 0);
	arena_fini(&a);
}

static void a_replaced_attempt_can_write_nothing_more(void **state)
{
	struct id run = id_new(ID_RUN);
	struct event_ref ref;
	struct writer old, new;
	struct err e = {0};

	(void)state;
	assert_int_equal(writer_open(&old, &file, "s",
				     &(struct writer_run){.run_id = run.text,
							  .attempt = 1,
							  .epoch = 1},
				     &e),
			 0);
	assert_int_equal(test_append_message(&old, "first"), 1);
	assert_int_equal(writer_open(&new, &file, "s",
				     &(struct writer_run){.run_id = run.text,
							  .attempt = 2,
							  .epoch = 1},
				     &e),
			 0);
	assert_int_equal(add_event(&old, NULL, "{}", &ref, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	assert_int_equal(test_append_message(&new, "second"), 2);
	assert_int_equal(writer_open(&old, &file, "s",
				     &(struct writer_run){.run_id = run.text,
							  .attempt = 1,
							  .epoch = 1},
				     &e),
			 -1);
	assert_int_equal(e.code, ERR_STALE);
}

static void a_raised_epoch_shuts_the_old_owner_out(void **state)
{
	struct id run = id_new(ID_RUN);
	struct agent_file other;
	struct event_ref ref;
	struct writer w;
	struct err e = {0};

	(void)state;
	assert_int_equal(writer_open(&w, &file, "s",
				     &(struct writer_run){.run_id = run.text,
							  .attempt = 1,
							  .epoch = 1},
				     &e),
			 0);
	assert_int_equal(test_append_message(&w, "mine"), 1);
	test_agent_open(&other, temp_join(&dir, "agent.sqlite"));
	assert_int_equal(agent_file_set_epoch(&other, 2, &e), 0);
	assert_int_equal(agent_file_set_epoch(&other, 2, &e), -1);
	agent_file_close(&other);
	assert_int_equal(add_event(&w, NULL, "{}", &ref, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	assert_string_equal(test_log(&file, "s"), "mine");
}

static void an_ended_run_is_ended_for_good(void **state)
{
	struct id run = id_new(ID_RUN);
	struct event_ref ref;
	struct writer w;
	struct err e = {0};

	(void)state;
	assert_int_equal(writer_open(&w, &file, "s",
				     &(struct writer_run){.run_id = run.text,
							  .attempt = 1,
							  .epoch = 1},
				     &e),
			 0);
	assert_int_equal(
		writer_end_run(&w, &(struct event_new){.type = "run_finished"},
			       "succeeded", "done", &ref, &e),
		0);
	assert_int_equal(add_event(&w, NULL, "{}", &ref, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
}

static void the_same_system_prompt_is_stored_once(void **state)
{
	struct event_ref one, two, three;
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "s");
	assert_int_equal(writer_set_system(&w, "be kind", &one, &e), 0);
	assert_int_equal(writer_set_system(&w, "be kind", &two, &e), 0);
	assert_true(two.repeated);
	assert_int_equal(two.seq, one.seq);
	assert_int_equal(writer_set_system(&w, "be brief", &three, &e), 0);
	assert_int_equal(three.seq, 2);
}

static void a_batch_is_all_or_nothing(void **state)
{
	struct event_new batch[] = {
		{.type = "message", .body = "{}", .parent = WRITER_LEAF},
		{.type = "message", .body = "{}", .parent = 99},
	};
	struct event_ref refs[2];
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "s");
	test_append_message(&w, "a");
	assert_int_equal(writer_append_batch(&w, batch, 2, refs, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_string_equal(test_log(&file, "s"), "a");
	assert_int_equal(test_append_message(&w, "b"), 2);
}

static void an_outbox_row_comes_with_its_event_or_not_at_all(void **state)
{
	struct outbox_new out = {"d1", "{\"channel\":\"x\"}", "{}"};
	struct outbox_new broken = {"d2", "not json", "{}"};
	struct event_ref ref;
	struct writer w;
	struct err e = {0};
	int64_t n;

	(void)state;
	test_writer_open(&w, &file, "s");
	assert_int_equal(
		writer_append(&w,
			      &(struct event_new){.type = "message",
						  .parent = WRITER_LEAF,
						  .outbox = &out},
			      &ref, &e),
		0);
	assert_int_equal(
		writer_append(&w,
			      &(struct event_new){.type = "message",
						  .parent = WRITER_LEAF,
						  .outbox = &broken},
			      &ref, &e),
		-1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_int_equal(
		sql_script_i64(file.db, "SELECT count(*) FROM outbox", &n, &e),
		0);
	assert_int_equal(n, 1);
	assert_int_equal(test_append_message(&w, "next"), 2);
}

#define T(name)                                                  \
	cmocka_unit_test_setup_teardown(name, set_up_transcript, \
					tear_down_transcript)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_same_key_and_content_is_taken_once),
		T(the_same_key_with_other_content_is_a_named_conflict),
		T(the_same_key_in_two_sessions_is_two_events),
		T(a_type_nobody_knows_is_kept_with_its_word),
		T(the_table_of_types_and_the_c_list_are_the_same),
		T(two_writers_of_one_session_share_its_numbers),
		T(two_writers_on_one_connection_do_so_too),
		T(pages_from_either_end_give_every_event_once),
		T(a_replaced_attempt_can_write_nothing_more),
		T(a_raised_epoch_shuts_the_old_owner_out),
		T(an_ended_run_is_ended_for_good),
		T(the_same_system_prompt_is_stored_once),
		T(a_batch_is_all_or_nothing),
		T(an_outbox_row_comes_with_its_event_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
