/* The queue to the outside: schema/control/channel/delivery_fsm.def and
 * schema/control/channel/delivery.h. */
#include "lib/base/backoff.h"
#include "tests/support/temp.h"

#include "lib/base/clock.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/delivery.h"
#include "schema/control/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW 1700000000000

static struct temp dir;
static struct sql *db;
static struct arena mem;

static int set_up_deliveries(void **state)
{
	struct err e = {0};

	(void)state;
	temp_make(&dir);
	if (db_open(&db, temp_join(&dir, "skep.sqlite"), &control_schema,
		    SQL_CREATE, &e) ||
	    sql_enter(db, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_deliveries(void **state)
{
	struct err e;

	(void)state;
	sql_leave(db, 0, &e);
	sql_close(db);
	arena_fini(&mem);
	mem = (struct arena){0};
	temp_remove(&dir);
	return 0;
}

static struct id add_delivery(const char *line, const char *source, int expect)
{
	struct delivery_new d = {.channel = "c",
				 .conversation = line,
				 .ordering_key = line,
				 .source_key = source,
				 .body = "{}",
				 .max_age_ms = 1000};
	struct err e = {0};
	struct id id;
	int n = delivery_add(db, &d, NOW, &id, &e);

	if (n != expect)
		fail_msg("%d: %s", n, e.text);
	return id;
}

static int claim_deliveries(int max, int64_t now,
			    struct claimed_delivery **rows)
{
	struct delivery_claim t = {.channel = "c",
				   .epoch = 1,
				   .lease_ms = 100,
				   .now = now,
				   .max = max};
	struct err e = {0};
	int n = delivery_claim(db, &t, rows, &mem, &e);

	if (n < 0)
		fail_msg("%s", e.text);
	return n;
}

static int record_event(const struct claimed_delivery *t,
			enum delivery_event event, int64_t due)
{
	struct delivery_end d = {
		.seq = t->row.seq,
		.id = t->row.id,
		.channel = "c",
		.ordering_key = t->row.ordering_key,
		.attempt_id = t->attempt.text,
		.attempts = t->row.attempts + 1,
		.from = DELIVERY_SENDING,
		.event = event,
		.due_at = due,
		.remote_status = OPT_NONE,
		.started_at = NOW,
	};
	struct err e = {0};
	int n = delivery_record(db, &d, NOW, &e);

	if (n < 0)
		fail_msg("%s", e.text);
	return n;
}

static struct delivery_row get_delivery(const char *id)
{
	struct delivery_row row;
	struct err e = {0};

	if (sql_get(db, Q_DELIVERY_GET, &(struct delivery_get_in){id}, &row,
		    &mem, &e) != 1)
		fail_msg("%s %s", id, e.text);
	return row;
}

/* --- the table -------------------------------------------------------- */

static void what_was_delivered_never_moves_again(void **state)
{
	(void)state;
	for (int v = 0; v < DELIVERY_EVENTS; v++)
		assert_false(
			delivery_fsm(DELIVERY_DELIVERED, (enum delivery_event)v)
				.allowed);
}

static void nothing_is_sent_that_was_not_claimed(void **state)
{
	(void)state;
	for (int s = 0; s < DELIVERY_STATES; s++)
		for (int v = 0; v < DELIVERY_EVENTS; v++) {
			struct delivery_transition m = delivery_fsm(
				(enum delivery_state)s, (enum delivery_event)v);

			if (m.allowed && m.to == DELIVERY_SENDING) {
				assert_int_equal(s, DELIVERY_PENDING);
				assert_int_equal(v, DELIVERY_EV_CLAIM);
			}
		}
}

static void every_state_can_come_to_an_end(void **state)
{
	bool ends[DELIVERY_STATES] = {false};

	(void)state;
	for (int s = 0; s < DELIVERY_STATES; s++)
		ends[s] = delivery_state_is_over((enum delivery_state)s);
	for (int round = 0; round < DELIVERY_STATES; round++)
		for (int s = 0; s < DELIVERY_STATES; s++)
			for (int v = 0; v < DELIVERY_EVENTS; v++) {
				struct delivery_transition m = delivery_fsm(
					(enum delivery_state)s,
					(enum delivery_event)v);

				ends[s] = ends[s] || (m.allowed && ends[m.to]);
			}
	for (int s = 0; s < DELIVERY_STATES; s++)
		assert_true(ends[s]);
}

static void a_crash_leaves_a_claimed_one_unknown(void **state)
{
	(void)state;
	assert_int_equal(delivery_fsm(DELIVERY_SENDING, DELIVERY_EV_LOSE).to,
			 DELIVERY_UNKNOWN);
	assert_false(delivery_fsm(DELIVERY_PENDING, DELIVERY_EV_LOSE).allowed);
}

static void the_wait_doubles_up_to_its_limit_and_varies(void **state)
{
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	for (uint32_t r = 0; r < 2048; r++) {
		int64_t ms = backoff_spread(backoff_next(3, 1000, 60000), r);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	assert_int_equal(least, 2000);
	assert_int_equal(most, 4000);
	assert_int_equal(backoff_next(1, 1000, 60000), 1000);
	assert_int_equal(backoff_next(1000, 1000, 60000), 60000);
	assert_int_equal(backoff_next(3, 1000, 500), 500);
}

/* --- the queue -------------------------------------------------------- */

static void an_outbox_row_becomes_one_delivery_however_often_it_comes(
	void **state)
{
	struct claimed_delivery *rows;

	(void)state;
	add_delivery("a", "agent/1/5", 1);
	add_delivery("a", "agent/1/5", 0);
	add_delivery("b", NULL, 1);
	add_delivery("b", NULL, 1);
	assert_int_equal(claim_deliveries(10, NOW, &rows), 2);
}

static void a_conversation_goes_out_in_order(void **state)
{
	struct claimed_delivery *rows;
	struct id first = add_delivery("a", NULL, 1),
		  second = add_delivery("a", NULL, 1);
	struct id other = add_delivery("b", NULL, 1);

	(void)state;
	assert_int_equal(claim_deliveries(10, NOW, &rows), 2);
	assert_string_equal(rows[0].row.id, first.text);
	assert_string_equal(rows[1].row.id, other.text);
	/* It failed: the second still waits for it. */
	record_event(&rows[0], DELIVERY_EV_FAIL, NOW + 500);
	assert_int_equal(claim_deliveries(10, NOW, &rows), 0);
	assert_int_equal(claim_deliveries(10, NOW + 500, &rows), 1);
	assert_string_equal(rows[0].row.id, first.text);
	record_event(&rows[0], DELIVERY_EV_ACK, OPT_NONE);
	assert_int_equal(claim_deliveries(10, NOW + 500, &rows), 1);
	assert_string_equal(rows[0].row.id, second.text);
}

/* What is decided of an unknown one. */
static void decide(const char *id, enum delivery_event event, int64_t due)
{
	struct delivery_row row = get_delivery(id);
	struct delivery_end d = delivery_end_of(&row);
	struct err e = {0};

	d.event = event;
	d.due_at = due;
	if (delivery_record(db, &d, NOW, &e) != 1)
		fail_msg("%s %s", id, e.text);
}

static void what_is_sent_again_keeps_its_place(void **state)
{
	struct claimed_delivery *rows;
	struct id first = add_delivery("a", NULL, 1),
		  second = add_delivery("a", NULL, 1);

	(void)state;
	claim_deliveries(10, NOW, &rows);
	record_event(&rows[0], DELIVERY_EV_LOSE, OPT_NONE);
	assert_string_equal(get_delivery(first.text).state, "unknown");
	assert_int_equal(claim_deliveries(10, NOW, &rows), 0);
	decide(first.text, DELIVERY_EV_FAIL, NOW);
	assert_int_equal(claim_deliveries(10, NOW, &rows), 1);
	assert_string_equal(rows[0].row.id, first.text);
	record_event(&rows[0], DELIVERY_EV_LOSE, OPT_NONE);
	decide(first.text, DELIVERY_EV_ACK, OPT_NONE);
	assert_int_equal(claim_deliveries(10, NOW, &rows), 1);
	assert_string_equal(rows[0].row.id, second.text);
}

static void what_only_a_person_knows_holds_nobody_up(void **state)
{
	struct claimed_delivery *rows;
	struct id first = add_delivery("a", NULL, 1),
		  second = add_delivery("a", NULL, 1);

	(void)state;
	claim_deliveries(10, NOW, &rows);
	record_event(&rows[0], DELIVERY_EV_LOSE, OPT_NONE);
	decide(first.text, DELIVERY_EV_REVIEW, OPT_NONE);
	assert_string_equal(get_delivery(first.text).state, "unknown");
	assert_int_equal(claim_deliveries(10, NOW, &rows), 1);
	assert_string_equal(rows[0].row.id, second.text);
	/* It comes back behind what is under way, and before what waits. */
	add_delivery("a", NULL, 1);
	decide(first.text, DELIVERY_EV_RETRY, NOW);
	record_event(&rows[0], DELIVERY_EV_ACK, OPT_NONE);
	assert_int_equal(claim_deliveries(10, NOW, &rows), 1);
	assert_string_equal(rows[0].row.id, first.text);
}

static void no_two_of_a_line_are_under_way(void **state)
{
	struct claimed_delivery *rows, *more;
	struct id dead = add_delivery("a", NULL, 1), waits;
	struct delivery_row row;
	struct err e = {0};

	(void)state;
	claim_deliveries(1, NOW, &rows);
	record_event(&rows[0], DELIVERY_EV_REFUSE, OPT_NONE);
	add_delivery("a", NULL, 1);
	assert_int_equal(claim_deliveries(1, NOW, &rows), 1);
	waits = add_delivery("a", NULL, 1);
	assert_int_equal(delivery_operate(db, dead.text, DELIVERY_EV_RETRY, NOW,
					  &row, &mem, &e),
			 0);
	assert_int_equal(delivery_operate(db, waits.text, DELIVERY_EV_DISCARD,
					  NOW, &row, &mem, &e),
			 0);
	assert_int_equal(claim_deliveries(10, NOW, &more), 0);
	record_event(&rows[0], DELIVERY_EV_ACK, OPT_NONE);
	assert_int_equal(claim_deliveries(10, NOW, &more), 1);
	assert_string_equal(more[0].row.id, dead.text);
}

static void a_claim_has_its_attempt_and_lease_in_the_row(void **state)
{
	struct claimed_delivery *rows;
	struct id id = add_delivery("a", NULL, 1);
	struct delivery_row row;

	(void)state;
	claim_deliveries(1, NOW + 7, &rows);
	row = get_delivery(id.text);
	assert_string_equal(row.state, "sending");
	assert_string_equal(row.attempt_id, rows[0].attempt.text);
	assert_int_equal(row.lease_until, NOW + 107);
	assert_int_equal(row.attempts, 1);
}

static void the_answer_to_a_former_attempt_changes_nothing(void **state)
{
	struct claimed_delivery *old, *rows;
	struct id id = add_delivery("a", NULL, 1);

	(void)state;
	claim_deliveries(1, NOW, &old);
	record_event(&old[0], DELIVERY_EV_FAIL, NOW);
	claim_deliveries(1, NOW, &rows);
	assert_int_equal(record_event(&old[0], DELIVERY_EV_ACK, OPT_NONE), 0);
	assert_string_equal(get_delivery(id.text).state, "sending");
	assert_int_equal(record_event(&rows[0], DELIVERY_EV_ACK, OPT_NONE), 1);
	assert_string_equal(get_delivery(id.text).state, "delivered");
}

static void what_is_too_old_is_not_sent(void **state)
{
	struct claimed_delivery *rows;
	struct id id = add_delivery("a", NULL, 1),
		  next = add_delivery("a", NULL, 1);

	(void)state;
	assert_int_equal(claim_deliveries(10, NOW + 1000, &rows), 0);
	assert_string_equal(get_delivery(id.text).state, "dead");
	assert_string_equal(get_delivery(id.text).detail, "too old");
	assert_int_equal(claim_deliveries(10, NOW, &rows),
			 1); /* the next is the head */
	assert_string_equal(rows[0].row.id, next.text);
}

static void an_operator_can_retry_discard_and_resend(void **state)
{
	struct claimed_delivery *rows;
	struct id id = add_delivery("a", NULL, 1), made;
	struct delivery_row row;
	struct err e = {0};

	(void)state;
	claim_deliveries(1, NOW, &rows);
	record_event(&rows[0], DELIVERY_EV_REFUSE, OPT_NONE);
	assert_int_equal(delivery_operate(db, id.text, DELIVERY_EV_RETRY,
					  NOW + 5000, &row, &mem, &e),
			 0);
	assert_int_equal(claim_deliveries(1, NOW + 5000, &rows),
			 1); /* age counts from now */
	assert_string_equal(rows[0].row.id, id.text);
	record_event(&rows[0], DELIVERY_EV_ACK, OPT_NONE);
	assert_int_equal(delivery_operate(db, id.text, DELIVERY_EV_DISCARD, NOW,
					  &row, &mem, &e),
			 -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(delivery_resend(db, id.text, NOW, &made, &e), 0);
	assert_string_not_equal(made.text, id.text);
	assert_string_equal(get_delivery(made.text).resend_of, id.text);
	assert_int_equal(delivery_operate(db, made.text, DELIVERY_EV_DISCARD,
					  NOW, &row, &mem, &e),
			 0);
	assert_int_equal(claim_deliveries(1, NOW + 5000, &rows), 0);
	assert_int_equal(delivery_operate(db, "dlv_none", DELIVERY_EV_RETRY,
					  NOW, &row, &mem, &e),
			 -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
}

static const char *wanted(const struct id *id, enum delivery_event what)
{
	struct delivery_row row;
	struct err e = {0};

	assert_int_equal(
		delivery_operate(db, id->text, what, NOW, &row, &mem, &e), 0);
	return get_delivery(id->text).detail;
}

static void the_detail_says_what_was_last_done(void **state)
{
	struct claimed_delivery *rows;
	struct id id = add_delivery("a", NULL, 1);

	(void)state;
	claim_deliveries(1, NOW + 1000, &rows);
	assert_string_equal(get_delivery(id.text).detail, "too old");
	assert_string_equal(wanted(&id, DELIVERY_EV_DISCARD),
			    "a person discarded it; it was dead: too old");
	assert_string_equal(wanted(&id, DELIVERY_EV_RETRY),
			    "retried on request");
	assert_string_equal(wanted(&id, DELIVERY_EV_DISCARD),
			    "a person discarded it");
}

static void failed_attempts_are_kept_one_by_one(void **state)
{
	struct delivery_attempt_row *tries;
	struct claimed_delivery *rows;
	struct id id = add_delivery("a", NULL, 1);
	struct delivery_attempt_list_in key;
	struct err e = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		claim_deliveries(1, NOW, &rows);
		record_event(&rows[0],
			     i < 2 ? DELIVERY_EV_FAIL : DELIVERY_EV_ACK,
			     i < 2 ? NOW : OPT_NONE);
	}
	key.delivery = get_delivery(id.text).seq;
	assert_int_equal(sql_collect(db, Q_DELIVERY_ATTEMPT_LIST, &key, 10,
				     &tries, &mem, &e),
			 2);
	assert_int_equal(tries[1].n, 2);
	assert_int_equal(get_delivery(id.text).attempts, 3);
}

#define UNDER_WAY 8

/* Whatever may happen next: to a message under way, or to any at all. */
static void happen(struct claimed_delivery *flying, int *n)
{
	static const enum delivery_event ends[] = {
		DELIVERY_EV_ACK, DELIVERY_EV_FAIL, DELIVERY_EV_REFUSE,
		DELIVERY_EV_LOSE};
	static const enum delivery_event wants[] = {
		DELIVERY_EV_RETRY,  DELIVERY_EV_DISCARD, DELIVERY_EV_FAIL,
		DELIVERY_EV_REVIEW, DELIVERY_EV_ACK,     DELIVERY_EV_EXPIRE};
	enum delivery_event what = wants[rand() % 6];
	int k = *n ? rand() % *n : 0;
	struct delivery_row row;
	struct err e = {0};
	const char *id = "";
	char sql[96];

	if (*n && rand() % 2) {
		record_event(&flying[k], ends[rand() % 4], NOW);
		flying[k] = flying[--*n];
		return;
	}
	snprintf(sql, sizeof sql,
		 "SELECT id FROM delivery WHERE state <> 'sending' LIMIT 1 "
		 "OFFSET %d",
		 rand() % 40);
	if (sql_script_text(db, sql, &mem, &id, &e) || !id[0])
		return;
	row = get_delivery(id);
	if (what == DELIVERY_EV_RETRY || what == DELIVERY_EV_DISCARD)
		(void)delivery_operate(db, id, what, NOW, &row, &mem, &e);
	else if (!strcmp(row.state, "unknown"))
		decide(id, what, what == DELIVERY_EV_FAIL ? NOW : OPT_NONE);
}

static void expect_none(const char *where, const char *what)
{
	struct err e = {0};
	int64_t n = -1;

	if (sql_script_i64(db, where, &n, &e) || n)
		fail_msg("%s: %d %s", what, (int)n, e.text);
}

/* Any sequence of moves: a line has one head and no more, the others wait, and
 * a delivery that left it is never its head. */
static void lines_stay_whole_whatever_happens(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	struct claimed_delivery flying[UNDER_WAY], *rows;
	int n = 0;

	(void)state;
	srand(7);
	for (int i = 0; i < 3000; i++) {
		int got;

		if (rand() % 3 == 0)
			add_delivery(names[rand() % 3], NULL, 1);
		got = n < 3 ? claim_deliveries(3 - n, NOW, &rows) : 0;
		for (int k = 0; k < got; k++)
			flying[n++] = rows[k];
		happen(flying, &n);
		expect_none("SELECT count(*) FROM (SELECT 1 FROM delivery "
			    "WHERE is_queued = 1 GROUP BY ordering_key "
			    "HAVING sum(is_next) <> 1)",
			    "lines without a head, or with two");
		expect_none("SELECT count(*) FROM delivery WHERE state = "
			    "'sending' AND is_next = 0 OR is_queued = 0 AND "
			    "is_next = 1",
			    "heads that are none");
	}
}

int main(void)
{
#define QUEUE(f)                                              \
	cmocka_unit_test_setup_teardown(f, set_up_deliveries, \
					tear_down_deliveries)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_delivered_never_moves_again),
		cmocka_unit_test(nothing_is_sent_that_was_not_claimed),
		cmocka_unit_test(every_state_can_come_to_an_end),
		cmocka_unit_test(a_crash_leaves_a_claimed_one_unknown),
		cmocka_unit_test(the_wait_doubles_up_to_its_limit_and_varies),
		QUEUE(an_outbox_row_becomes_one_delivery_however_often_it_comes),
		QUEUE(a_conversation_goes_out_in_order),
		QUEUE(what_is_sent_again_keeps_its_place),
		QUEUE(what_only_a_person_knows_holds_nobody_up),
		QUEUE(no_two_of_a_line_are_under_way),
		QUEUE(a_claim_has_its_attempt_and_lease_in_the_row),
		QUEUE(the_answer_to_a_former_attempt_changes_nothing),
		QUEUE(what_is_too_old_is_not_sent),
		QUEUE(an_operator_can_retry_discard_and_resend),
		QUEUE(the_detail_says_what_was_last_done),
		QUEUE(failed_attempts_are_kept_one_by_one),
		QUEUE(lines_stay_whole_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
