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
		cmocka_unit_test(a_failure_of_the_owner_ends_the_feed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
