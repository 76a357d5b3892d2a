#include "lib/json/jsonrpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

struct side {
	struct buf out;
	struct rpc rpc;
	int notes, noises, replies;
	int64_t code; /* of the last reply; 0: a result */
};

static int echo(struct rpc *r, const struct rpc_request *request, struct err *e)
{
	struct buf b = BUF_MAX(4096);

	(void)e;
	json_add(&b, request->params);
	rpc_answer(r, request->id, b.p);
	buf_fini(&b);
	return 0;
}

static int fatal(struct rpc *r, const struct rpc_request *request,
		 struct err *e)
{
	(void)r;
	(void)request;
	return err_set(e, ERR_IO, "the disk is gone");
}

static int note_request(struct rpc *r, const struct rpc_request *request,
			struct err *e)
{
	struct side *s = r->owner;

	(void)request;
	(void)e;
	s->notes++;
	return 0;
}

static int noise(struct rpc *r, const char *p, size_t n, struct err *e)
{
	struct side *s = r->owner;

	(void)p;
	(void)n;
	(void)e;
	s->noises++;
	return 0;
}

static int replied(struct rpc *r, const struct rpc_reply *reply, struct err *e)
{
	struct side *s = r->owner;

	(void)e;
	s->replies++;
	s->code = reply->result ? 0 : reply->code;
	return 0;
}

static const struct rpc_method methods[] = {{"echo", true, echo},
					    {"fatal", true, fatal},
					    {"note", false, note_request}};

static void begin_side(struct side *s)
{
	*s = (struct side){.out = BUF_MAX(1 << 20)};
	rpc_init(&s->rpc, methods, 3, &s->out, s);
	s->rpc.noise = noise;
}

static void end_side(struct side *s)
{
	rpc_fini(&s->rpc);
	buf_fini(&s->out);
}

static void feed(struct side *s, const char *text)
{
	struct err e;

	assert_int_equal(rpc_feed(&s->rpc, text, strlen(text), &e), 0);
}

static void a_request_is_answered_under_its_own_id(void **state)
{
	struct side s;

	(void)state;
	begin_side(&s);
	feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"method\":\"echo\","
		 "\"params\":{\"x\":[1]},\"more\":true}\n");
	assert_string_equal(
		s.out.p,
		"{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"x\":[1]}}"
		"\n");
	end_side(&s);
}

static void an_unknown_method_is_refused_and_an_unknown_note_ignored(
	void **state)
{
	struct side s;

	(void)state;
	begin_side(&s);
	feed(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"_x/y\"}\n");
	assert_int_equal(s.out.n, 0);
	feed(&s, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"_x/y\"}\n");
	assert_non_null(strstr(s.out.p, "\"id\":7,\"error\":{\"code\":-32601"));
	assert_int_equal(s.noises, 0);
	end_side(&s);
}

static void a_reply_reaches_its_call_once(void **state)
{
	struct side s;
	struct err e;

	(void)state;
	begin_side(&s);
	assert_int_equal(rpc_call(&s.rpc, "m", "{}", replied, &e), 0);
	assert_int_equal(rpc_call(&s.rpc, "m", "{}", replied, &e), 0);
	assert_non_null(strstr(s.out.p, "\"id\":2,\"method\":\"m\""));
	feed(&s, "{\"id\":\"2\",\"error\":{\"code\":-5,\"message\":\"no\"}}\n");
	assert_int_equal(s.code, -5);
	feed(&s, "{\"id\":2,\"result\":{}}\n{\"id\":9,\"result\":{}}\n");
	assert_int_equal(s.replies, 1);
	feed(&s, "{\"id\":1,\"result\":null,\"error\":null}\n");
	assert_int_equal(s.replies, 2);
	assert_int_equal(s.code, 0);
	end_side(&s);
}

static void what_is_no_message_is_noise(void **state)
{
	struct side s;

	(void)state;
	begin_side(&s);
	feed(&s, "Debugger listening\n{\"a\":1}\n[]\n{broken\n\n5\n");
	assert_int_equal(s.noises, 5);
	assert_int_equal(s.out.n, 0);
	end_side(&s);
}

static void messages_come_in_any_pieces_and_batches(void **state)
{
	static const char text[] =
		"[{\"method\":\"note\"},{\"method\":\"note\"}"
		"]\n{\"method\":\"note\"}\n";
	struct side s;
	struct err e;

	(void)state;
	begin_side(&s);
	for (size_t i = 0; i < sizeof text - 1; i++)
		assert_int_equal(rpc_feed(&s.rpc, text + i, 1, &e), 0);
	assert_int_equal(s.notes, 3);
	end_side(&s);
}

static void a_text_with_a_nul_is_not_lost(void **state)
{
	struct side s;

	(void)state;
	begin_side(&s);
	feed(&s, "{\"id\":1,\"method\":\"echo\",\"params\":[\"a\\u0000b\"]}\n");
	assert_non_null(strstr(s.out.p, "\"result\":[\"a\xef\xbf\xbd"
					"b\"]"));
	end_side(&s);
}

static void feed_long(struct side *s, const char *before, const char *after)
{
	static char much[1 << 20];
	struct err e;

	memset(much, 'x', sizeof much);
	feed(s, before);
	for (size_t n = 0; n <= RPC_LINE_MAX; n += sizeof much)
		assert_int_equal(rpc_feed(&s->rpc, much, sizeof much, &e), 0);
	feed(s, after);
}

/* As the SDK of MCP writes it: the id comes last. */
static void a_request_over_the_limit_is_refused_under_its_id(void **state)
{
	struct side s;

	(void)state;
	begin_side(&s);
	feed_long(
		&s,
		"{\"method\":\"echo\",\"params\":{\"x\":\"a\\\",\\\"id\\\":1 ",
		"\",\"id\":3,\"l\":[{\"id\":4}]},\"jsonrpc\":\"2.0\", \"id\" "
		": \"b,}\\\"\"}\n");
	assert_non_null(strstr(s.out.p, "\"id\":\"b,}\\\"\","));
	assert_non_null(strstr(s.out.p, "\"error\":{\"code\":-32600"));
	assert_non_null(strstr(s.out.p, "longer than 16777216 bytes"));
	assert_true(s.noises > 1);
	buf_clear(&s.out);
	feed(&s, "{\"id\":8,\"method\":\"echo\",\"params\":[]}\n");
	assert_non_null(strstr(s.out.p, "\"id\":8,\"result\":[]"));
	end_side(&s);
}

static void a_reply_over_the_limit_fails_its_call(void **state)
{
	struct side s;
	struct err e;

	(void)state;
	begin_side(&s);
	assert_int_equal(rpc_call(&s.rpc, "m", "{}", replied, &e), 0);
	feed_long(&s, "{\"jsonrpc\":\"2.0\",\"result\":{\"x\":\"",
		  "\"},\"id\":\"1\"}\n");
	assert_int_equal(s.replies, 1);
	assert_int_equal(s.code, RPC_REQUEST);
	end_side(&s);
}

static void the_id_of_a_long_message_is_found(void **state)
{
	static const struct {
		const char *text, *id;
		bool has_method;
	} cases[] = {
		{"{\"id\":7,\"method\":\"m\",\"params\":{\"id\":9}}", "7",
		 true},
		{"{\"result\":[{\"method\":1}],\"id\":\"a b\"}", "\"a b\"",
		 false},
		{"{\"id\":1,\"id\":2}", "1", false},
		{"no JSON \"id\":1,\"method\":\"m\" ", NULL, false},
		{"{\"id\":[1],\"method\":\"m\"}", NULL, true},
		{"{\"id\":nil,\"method\":\"m\"}", NULL, true},
		{"[{\"id\":1,\"method\":\"m\"}]", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rpc_scan s = {0};
		const char *id;

		for (const char *p = cases[i].text; *p; p++)
			rpc_scan_add(&s, p, 1);
		id = rpc_scan_id(&s);
		assert_int_equal(id != NULL, cases[i].id != NULL);
		if (id)
			assert_string_equal(id, cases[i].id);
		assert_int_equal(s.has_method, cases[i].has_method);
	}
}

/* The id is the long one. */
static void a_long_line_without_an_id_is_noise(void **state)
{
	struct side s;

	(void)state;
	begin_side(&s);
	feed_long(&s, "{\"method\":\"m\",\"id\":\"", "\"}\n");
	assert_int_equal(s.out.n, 0);
	assert_true(s.noises > 1);
	end_side(&s);
}

static void a_failure_of_the_owner_ends_the_feed(void **state)
{
	static const char text[] = "{\"id\":1,\"method\":\"fatal\"}\n";
	struct side s;
	struct err e = {0};

	(void)state;
	begin_side(&s);
	assert_int_equal(rpc_feed(&s.rpc, text, sizeof text - 1, &e), -1);
	assert_int_equal(e.code, ERR_IO);
	end_side(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered_under_its_own_id),
		cmocka_unit_test(
			an_unknown_method_is_refused_and_an_unknown_note_ignored),
		cmocka_unit_test(a_reply_reaches_its_call_once),
		cmocka_unit_test(what_is_no_message_is_noise),
		cmocka_unit_test(messages_come_in_any_pieces_and_batches),
		cmocka_unit_test(a_text_with_a_nul_is_not_lost),
		cmocka_unit_test(
			a_request_over_the_limit_is_refused_under_its_id),
		cmocka_unit_test(a_reply_over_the_limit_fails_its_call),
		cmocka_unit_test(the_id_of_a_long_message_is_found),
		cmocka_unit_test(a_long_line_without_an_id_is_noise),
		cmocka_unit_test(a_failure_of_the_owner_ends_the_feed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
