#include "tests/support/http_wire.h"

#include "lib/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define MS        INT64_C(1000000)

static struct wire w;

static int set_up_http_conn(void **state)
{
	(void)state;
	wire_init(&w, true);
	return 0;
}

static int tear_down_http_conn(void **state)
{
	(void)state;
	wire_fini(&w);
	return 0;
}

static void send_input(const char *text)
{
	wire_input(&w, text, strlen(text));
}

/* The statuses so far, as one number: 200 then 404 is 200404. */
static long long statuses(void)
{
	int list[4];
	int n = wire_answers(&w, true, list, 4);
	long long all = 0;

	assert_true(n >= 0 && n <= 4);
	for (int i = 0; i < n; i++)
		all = all * 1000 + list[i];
	return all;
}

static bool sent(const char *text)
{
	return memmem(w.out.p, w.out.n, text, strlen(text)) != NULL;
}

static void requests_are_answered_in_order_on_one_connection(void **state)
{
	(void)state;
	send_input(GET("/now") GET("/nope") GET("/item/x%2Fy"));
	assert_int_equal(statuses(), 200404200);
	assert_true(sent("\r\n\r\nx/y"));
	assert_false(conn_is_done(w.c));
}

static void a_request_may_come_byte_by_byte(void **state)
{
	static const char text[] = "POST /echo HTTP/1.1\r\nHost: x\r\n"
				   "Content-Length: 5\r\n\r\nhello" GET("/now");

	(void)state;
	for (size_t i = 0; i < sizeof text - 1; i++)
		wire_input(&w, text + i, 1);
	assert_int_equal(statuses(), 201200);
	assert_true(sent("\r\n\r\nhello"));
}

static void chunked_bodies_are_put_together(void **state)
{
	(void)state;
	send_input("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
		   "chunked\r\n"
		   "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" GET("/now"));
	assert_int_equal(statuses(), 201200);
	assert_true(sent("\r\n\r\nabcde"));
}

static void expect_is_answered_before_the_body_is_there(void **state)
{
	(void)state;
	send_input("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
		   "Expect: 100-continue\r\n\r\n");
	assert_true(sent("HTTP/1.1 100 Continue\r\n\r\n"));
	send_input("ok");
	assert_int_equal(statuses(), 201);
}

static void bodies_over_the_limit_are_refused_before_they_come(void **state)
{
	(void)state;
	send_input("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: "
		   "1025\r\n\r\n");
	assert_int_equal(statuses(), 413);
	assert_true(conn_is_done(w.c));
}

static void chunks_over_the_limit_are_refused_too(void **state)
{
	(void)state;
	send_input("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
		   "chunked\r\n"
		   "\r\n401\r\n");
	for (int i = 0; i < 1025; i++)
		send_input("x");
	assert_int_equal(statuses(), 413);
	assert_true(conn_is_done(w.c));
}

static void heads_over_the_limit_are_refused(void **state)
{
	(void)state;
	send_input("GET /now HTTP/1.1\r\nHost: x\r\nX: ");
	for (int i = 0; i < 2000 && !conn_is_done(w.c); i++)
		send_input("x");
	assert_int_equal(statuses(), 431);
	assert_true(conn_is_done(w.c));
}

static void nothing_is_read_after_a_bad_request(void **state)
{
	(void)state;
	send_input("GET /now HTTP/1.1\r\n\r\n" GET("/now"));
	assert_int_equal(statuses(), 400);
	assert_true(conn_is_done(w.c));
}

static void a_known_path_names_its_methods(void **state)
{
	(void)state;
	send_input("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n" GET("/now"));
	assert_int_equal(statuses(), 405200);
	assert_true(sent("\r\nAllow: POST\r\n"));
}

static void head_gets_everything_but_the_body(void **state)
{
	(void)state;
	send_input("HEAD /now HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(sent("Content-Length: 12\r\n"));
	assert_false(sent("now\":"));
	send_input("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n" GET("/now"));
	conn_orphans_close(&w.core);
	assert_int_equal(w.closed, 1);
	assert_true(sent("{\"now\":true}"));
}

static void old_clients_are_hung_up_on_at_the_end(void **state)
{
	(void)state;
	send_input("GET /now HTTP/1.0\r\n\r\n");
	assert_true(conn_is_done(w.c));
	assert_true(sent("Connection: close\r\n"));
}

static void an_answer_may_come_later(void **state)
{
	(void)state;
	send_input(GET("/later") GET("/now"));
	assert_int_equal(statuses(), 0);
	wire_answer_held(&w);
	wire_drain(&w);
	assert_int_equal(statuses(), 202200);
}

static void a_reply_outlives_its_client(void **state)
{
	(void)state;
	send_input(GET("/later"));
	wire_hang_up(&w);
	wire_answer_held(&w);
}

static void a_stream_carries_events_until_it_is_ended(void **state)
{
	(void)state;
	send_input(GET("/stream"));
	assert_true(sent("id: 1\ndata: one\n\n"));
	assert_true(sent("id: 2\ndata: two\n\n"));
	http_stream_end(w.stream);
	wire_drain(&w);
	send_input(GET("/now"));
	assert_int_equal(statuses(), 200200);
	assert_int_equal(w.closed, 0);
}

static void a_streams_producer_learns_that_the_client_left(void **state)
{
	(void)state;
	send_input(GET("/stream"));
	wire_hang_up(&w);
	assert_int_equal(w.closed, 1);
}

static int push(size_t n)
{
	static char data[8192];

	memset(data, 'x', sizeof data);
	return http_stream_send(w.stream,
				&(struct sse_event){.data = data, .n = n});
}

static bool metric_is(const char *line)
{
	struct buf b = BUF_MAX(1 << 16);
	bool is;

	metrics_write(w.core.metrics, &b);
	is = strstr(b.p, line) != NULL;
	buf_fini(&b);
	return is;
}

static void a_reader_who_does_not_read_is_dropped(void **state)
{
	(void)state;
	send_input(GET("/stream"));
	assert_int_equal(push(2000), 0);
	assert_int_equal(push(2000), 0);
	assert_int_equal(push(2000), -1);
	assert_true(w.c->kill);
	assert_int_equal(w.closed, 0); /* not from inside of the send */
	assert_int_equal(push(1), -1);
	wire_hang_up(&w);
	assert_int_equal(w.closed, 1);
	assert_true(metric_is("\nskep_http_streams_dropped_total 1\n"));
	assert_true(metric_is("\nskep_http_streams 0\n"));
}

static void one_event_larger_than_the_queue_goes_through(void **state)
{
	(void)state;
	send_input(GET("/stream"));
	assert_int_equal(push(8000), 0);
}

static void a_producer_that_asks_for_room_drops_nobody(void **state)
{
	(void)state;
	send_input(GET("/stream"));
	for (int i = 0; i < 50; i++) {
		while (http_stream_room(w.stream) > 0)
			assert_int_equal(push(500), 0);
		assert_int_equal(w.writable, i);
		wire_drain(&w);
		assert_int_equal(w.writable, i + 1);
	}
}

/* --- the same events for many ----------------------------------------- */

static bool full; /* the socket takes nothing */

static bool take_now(struct conn *c, const struct blob *parts, int n)
{
	struct wire *to = c->core->wake_arg;

	for (int i = 0; !full && i < n; i++)
		buf_add(&to->out, parts[i].p, parts[i].n);
	return !full;
}

static int share(const char *text)
{
	struct buf b = BUF_MAX(4096);
	int rc;

	sse_format(&b, &(struct sse_event){.data = text, .n = strlen(text)});
	rc = http_stream_share(w.stream, &b, 1);
	buf_fini(&b);
	return rc;
}

static void what_is_shared_goes_to_the_socket_without_a_copy(void **state)
{
	(void)state;
	full = false;
	w.core.send = take_now;
	send_input(GET("/stream"));
	assert_int_equal(share("three"), 0);
	assert_int_equal(w.c->out.n, 0);
	assert_true(sent("d\r\ndata: three\n\n\r\n"));
}

static void what_is_shared_keeps_its_place_behind_what_waits(void **state)
{
	(void)state;
	full = true;
	w.core.send = take_now;
	send_input(GET("/stream"));
	assert_int_equal(share("three"), 0);
	assert_true(w.c->out.n > 0);
	full = false;
	assert_int_equal(share("four"), 0); /* not before three */
	assert_false(sent("four"));
	wire_drain(&w);
	assert_true(sent("d\r\ndata: three\n\n\r\nc\r\ndata: four\n\n\r\n"));
	assert_int_equal(w.c->out.n, 0);
}

static void bytes_sent_while_streaming_wait_for_their_turn(void **state)
{
	(void)state;
	send_input(GET("/stream"));
	send_input(GET("/now"));
	assert_int_equal(statuses(), 0);
	http_stream_end(w.stream);
	wire_drain(&w);
	assert_int_equal(statuses(), 200200);
}

static void a_client_that_floods_a_busy_connection_is_cut(void **state)
{
	char junk[4096];

	(void)state;
	memset(junk, 'x', sizeof junk);
	send_input(GET("/later"));
	for (int i = 0; i < 40 && !w.c->kill; i++)
		wire_input(&w, junk, sizeof junk);
	assert_true(w.c->kill);
}

static void a_silent_stream_gets_heartbeats(void **state)
{
	int64_t now = clock_mono_ns();

	(void)state;
	send_input(GET("/stream"));
	conn_tick(w.c, now + 14000 * MS);
	wire_drain(&w);
	assert_false(sent(": beat"));
	conn_tick(w.c, now + 16000 * MS);
	wire_drain(&w);
	assert_true(sent(": beat\n\n"));
}

static void a_reader_who_stalls_is_dropped_in_time(void **state)
{
	int64_t now = clock_mono_ns();

	(void)state;
	send_input(GET("/stream"));
	push(10);
	conn_tick(w.c, now + 29000 * MS);
	assert_false(w.c->kill);
	conn_tick(w.c, now + 31000 * MS);
	assert_true(w.c->kill);
}

static void who_does_not_finish_a_request_is_cut(void **state)
{
	int64_t now = clock_mono_ns();

	(void)state;
	send_input("GET /now HT");
	conn_tick(w.c, now + 29000 * MS);
	assert_false(w.c->kill);
	conn_tick(w.c, now + 31000 * MS);
	assert_true(w.c->kill);
}

/* Whether the connection is cut at so many ms from now. */
static bool is_cut_after(int64_t ms)
{
	conn_tick(w.c, clock_mono_ns() + ms * MS);
	return w.c->kill;
}

static void a_tcp_client_has_seconds_to_authenticate(void **state)
{
	static const char *const answer[] = {
		"", "GET /now HT",
		"GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < sizeof answer / sizeof *answer; i++) {
		wire_fini(&w);
		wire_init(&w, false);
		send_input(answer[i]);
		assert_false(is_cut_after(4000));
		if (i == 1)
			send_input(
				"TP"); /* a byte now and then does not help */
		assert_true(is_cut_after(6000));
	}
	wire_fini(&w);
	wire_init(&w, false);
	send_input("GET /now HTTP/1.1\r\nHost: localhost\r\n"
		   "Authorization: Bearer good\r\n\r\n");
	assert_int_equal(statuses(), 200);
	assert_false(is_cut_after(100000)); /* it may rest */
	assert_true(is_cut_after(130000));
}

static void a_waiting_request_is_never_timed_out(void **state)
{
	(void)state;
	send_input(GET("/later"));
	conn_tick(w.c, clock_mono_ns() + 3600000 * MS);
	assert_false(w.c->kill);
}

/* On TCP a token is required, also for a stream. */
static void on_tcp_a_token_is_needed(void **state)
{
	static const char *const paths[] = {"/now", "/stream", "/nope", "/"};
	char text[256];

	(void)state;
	wire_fini(&w);
	wire_init(&w, false);
	for (size_t i = 0; i < 4; i++) {
		buf_clear(&w.out);
		snprintf(text, sizeof text,
			 "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
			 paths[i]);
		send_input(text);
		assert_int_equal(statuses(), 401);
		assert_true(sent("WWW-Authenticate: Bearer\r\n"));
	}
	buf_clear(&w.out);
	send_input(GET("/open"));
	assert_int_equal(statuses(), 200);
}

#define AS(host, extra, path) \
	"GET " path " HTTP/1.1\r\nHost: " host "\r\n" extra "\r\n"
#define GOOD "Authorization: Bearer good\r\n"

static void a_token_opens_its_scopes_only(void **state)
{
	(void)state;
	wire_fini(&w);
	wire_init(&w, false);
	send_input(AS("localhost", GOOD, "/now"));
	send_input(AS("localhost", GOOD, "/secret"));
	send_input(AS("localhost", "Authorization: Bearer bad\r\n", "/now"));
	assert_int_equal(statuses(), 200403401);
}

static void other_sites_pages_are_kept_out(void **state)
{
	(void)state;
	wire_fini(&w);
	wire_init(&w, false);
	send_input(AS("evil.example", GOOD, "/now"));
	send_input(AS("localhost", GOOD "Origin: http://evil.example\r\n",
		      "/now"));
	send_input(
		AS("localhost", GOOD "Origin: http://localhost\r\n", "/now"));
	send_input(AS("evil.example", "", "/open"));
	assert_int_equal(statuses(), 403403200403);
}

static void on_the_unix_socket_other_users_are_refused(void **state)
{
	(void)state;
	w.c->peer.scopes = 0;
	send_input(GET("/now"));
	assert_int_equal(statuses(), 401);
}

#define T(name)                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_http_conn, \
					tear_down_http_conn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_are_answered_in_order_on_one_connection),
		T(a_request_may_come_byte_by_byte),
		T(chunked_bodies_are_put_together),
		T(expect_is_answered_before_the_body_is_there),
		T(bodies_over_the_limit_are_refused_before_they_come),
		T(chunks_over_the_limit_are_refused_too),
		T(heads_over_the_limit_are_refused),
		T(nothing_is_read_after_a_bad_request),
		T(a_known_path_names_its_methods),
		T(head_gets_everything_but_the_body),
		T(old_clients_are_hung_up_on_at_the_end),
		T(an_answer_may_come_later),
		T(a_reply_outlives_its_client),
		T(a_stream_carries_events_until_it_is_ended),
		T(a_streams_producer_learns_that_the_client_left),
		T(a_reader_who_does_not_read_is_dropped),
		T(one_event_larger_than_the_queue_goes_through),
		T(a_producer_that_asks_for_room_drops_nobody),
		T(what_is_shared_goes_to_the_socket_without_a_copy),
		T(what_is_shared_keeps_its_place_behind_what_waits),
		T(bytes_sent_while_streaming_wait_for_their_turn),
		T(a_client_that_floods_a_busy_connection_is_cut),
		T(a_silent_stream_gets_heartbeats),
		T(a_reader_who_stalls_is_dropped_in_time),
		T(who_does_not_finish_a_request_is_cut),
		T(a_waiting_request_is_never_timed_out),
		T(a_tcp_client_has_seconds_to_authenticate),
		T(on_tcp_a_token_is_needed),
		T(a_token_opens_its_scopes_only),
		T(other_sites_pages_are_kept_out),
		T(on_the_unix_socket_other_users_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
