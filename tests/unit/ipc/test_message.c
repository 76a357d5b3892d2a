#include "ipc/end_reason.h"
#include "ipc/message.h"
#include "ipc/sp_frame.h"
#include "ipc/start_message.h"

#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WHO "\"run\":\"run_1\",\"attempt\":1,\"token\":\"t\""

static int decode_message(const char *json, enum msg_side from, struct arena *a,
			  struct msg *m, struct err *e)
{
	return msg_decode(json, strlen(json), from, a, m, e);
}

static void refuses(const char *json, enum msg_side from, const char *why)
{
	struct arena a = {0};
	struct err e = {0};
	struct msg m;

	assert_int_equal(decode_message(json, from, &a, &m, &e), -1);
	assert_int_equal(e.code, ERR_PROTOCOL);
	if (!strstr(e.text, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", json, e.text, why);
	arena_fini(&a);
}

static void what_was_encoded_decodes_to_the_same_bytes(void **state)
{
	static const struct {
		enum msg_side from;
		const char *json;
	} all[] = {
		{SIDE_WORKER, "{\"type\":\"hello\"," WHO
			      ",\"pid\":7,\"started\":9,\"build\":\"b\"}"},
		{SIDE_WORKER, "{\"type\":\"ready\"," WHO ",\"last\":0}"},
		{SIDE_WORKER, "{\"type\":\"event\"," WHO
			      ",\"seq\":9007199254740991,\"rev\":3}"},
		{SIDE_WORKER, "{\"type\":\"approval\"," WHO
			      ",\"key\":\"k\",\"title\":\"\\\"\\n"
			      "\xc3\xa4\",\"detail\":{\"a\":[1,2.5]},"
			      "\"fallback\":\"deny\"}"},
		{SIDE_WORKER, "{\"type\":\"finished\"," WHO
			      ",\"outcome\":\"failed\",\"reason\":\"exit_code\""
			      ",\"seq\":4,\"exit_code\":3}"},
		{SIDE_SUPERVISOR, "{\"type\":\"cancel\",\"id\":5,\"reason\":"
				  "\"r\",\"grace_ms\":100}"},
		{SIDE_SUPERVISOR, "{\"type\":\"ack\"}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct buf b = BUF_MAX(MSG_MAX_BYTES);
		struct arena a = {0};
		struct err e = {0};
		struct msg m;

		if (decode_message(all[i].json, all[i].from, &a, &m, &e))
			fail_msg("%s: %s", all[i].json, e.text);
		assert_int_equal(msg_encode(&m, &b, &e), 0);
		assert_string_equal(b.p, all[i].json);
		buf_fini(&b);
		arena_fini(&a);
	}
}

static void a_peer_may_send_only_what_its_role_allows(void **state)
{
	(void)state;
	refuses("{\"type\":\"cancel\",\"id\":1,\"reason\":\"\",\"grace_ms\":1}",
		SIDE_WORKER, "not for the worker");
	refuses("{\"type\":\"ready\"," WHO ",\"last\":0}", SIDE_SUPERVISOR,
		"not for the supervisor");
}

static void what_is_not_a_whole_message_is_refused_with_its_reason(void **state)
{
	(void)state;
	refuses("", SIDE_WORKER, "empty");
	refuses("[]", SIDE_WORKER, "object");
	refuses("{}", SIDE_WORKER, "has no type");
	refuses("{\"type\":7}", SIDE_WORKER, "has no type");
	refuses("{\"type\":\"boo\"}", SIDE_WORKER, "boo");
	refuses("{\"type\":\"ready\"," WHO "}", SIDE_WORKER, "last is missing");
	refuses("{\"type\":\"ready\"," WHO ",\"last\":-1}", SIDE_WORKER,
		"last");
	refuses("{\"type\":\"ready\"," WHO ",\"last\":1.5}", SIDE_WORKER,
		"last");
	refuses("{\"type\":\"ready\"," WHO ",\"last\":1e300}", SIDE_WORKER,
		"last");
	refuses("{\"type\":\"ready\"," WHO ",\"last\":\"1\"}", SIDE_WORKER,
		"last");
	refuses("{\"type\":\"ready\",\"run\":1,\"attempt\":1,\"token\":\"t\","
		"\"last\":1}",
		SIDE_WORKER, "run is not a string");
	refuses("{\"type\":\"heartbeat\"," WHO
		",\"phase\":\"asleep\",\"seq\":1}",
		SIDE_WORKER, "not one of");
	refuses("{\"type\":\"ready\"," WHO ",\"last\":0} x", SIDE_WORKER,
		"after the end");
}

static void unknown_fields_are_ignored(void **state)
{
	struct arena a = {0};
	struct err e = {0};
	struct msg m;

	(void)state;
	assert_int_equal(
		decode_message("{\"new\":[1],\"type\":\"pause\",\"id\":3}",
			       SIDE_SUPERVISOR, &a, &m, &e),
		0);
	assert_int_equal(m.type, MSG_TYPE_PAUSE);
	assert_int_equal(m.u.id, 3);
	arena_fini(&a);
}

static void a_text_over_its_limit_is_neither_sent_nor_taken(void **state)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES), json = BUF_MAX(1 << 20);
	struct err e = {0};
	char reason[300];
	struct msg m = {.type = MSG_TYPE_CANCEL};

	(void)state;
	memset(reason, 'x', sizeof reason - 1);
	reason[sizeof reason - 1] = '\0';
	m.u.cancel = (struct msg_cancel){1, reason, 0};
	buf_adds(&b, "before");
	assert_int_equal(msg_encode(&m, &b, &e), -1);
	assert_string_equal(b.p, "before");
	buf_addf(&json, "{\"type\":\"stop\",\"id\":1,\"reason\":\"%s\"}",
		 reason);
	refuses(json.p, SIDE_SUPERVISOR, "over 256");
	buf_fini(&json);
	buf_fini(&b);
}

static void a_start_arrives_as_it_was_given(void **state)
{
	struct msg_start s = {
		.run = "run_1",
		.attempt = 2,
		.token = "t",
		.agent = "a",
		.session = "main",
		.agent_db = "/x/agent.sqlite",
		.schema_version = 1,
		.epoch = 3,
		.driver = "exec",
		.config = "{\"command\":[\"true\"]}",
		.prompt = "hello\nworld",
		.workspace_mode = "disk",
		.socket = "/x/run/workers.sock",
		.on_supervisor_loss = "continue",
		.synchronous = "normal",
		.heartbeat_ms = 1000,
		.grace_ms = 500,
		.run_timeout_ms = OPT_NONE,
		.idle_timeout_ms = 7,
		.output_max = OPT_NONE,
	};
	struct msg_start got;
	struct arena a = {0};
	struct err e = {0};
	int fd = start_to_fd(&s, &e);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(start_from_fd(fd, &a, &got, &e), 0);
	assert_string_equal(got.prompt, s.prompt);
	assert_string_equal(got.config, s.config);
	assert_null(got.workspace);
	assert_int_equal(got.idle_timeout_ms, 7);
	assert_int_equal(got.run_timeout_ms, OPT_NONE);
	close(fd);
	arena_fini(&a);
}

static void a_frame_is_read_only_when_it_is_whole(void **state)
{
	struct buf b = BUF_MAX(1000);
	struct sp_frame f;
	struct err e;

	(void)state;
	sp_put(&b, 77, "payload", 7);
	for (size_t n = 0; n < b.n; n++)
		assert_int_equal(sp_get(b.p, n, 100, &f, &e), 0);
	assert_int_equal(sp_get(b.p, b.n, 100, &f, &e), 1);
	assert_int_equal(f.request, 77);
	assert_int_equal(f.size, b.n);
	assert_memory_equal(f.p, "payload", 7);
	assert_int_equal(sp_get(b.p, b.n, 6, &f, &e), -1);
	assert_int_equal(sp_get("\2", 1, 6, &f, &e), -1);
	buf_fini(&b);
}

static void every_reason_has_an_outcome_that_may_be_sent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REASONS; i++) {
		struct buf b = BUF_MAX(4096);
		struct err e = {0};
		struct msg m = {.type = MSG_TYPE_FINISHED};

		m.u.finished = (struct msg_finished){
			.run = "r",
			.token = "t",
			.outcome = reason_outcome((enum reason)i),
			.reason = reason_code((enum reason)i),
			.exit_code = OPT_NONE,
			.signal = OPT_NONE,
		};
		assert_int_equal(msg_encode(&m, &b, &e), 0);
		assert_int_equal(reason_from(reason_code((enum reason)i)), i);
		buf_fini(&b);
	}
	assert_int_equal(reason_from("no_such"), REASONS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_encoded_decodes_to_the_same_bytes),
		cmocka_unit_test(a_peer_may_send_only_what_its_role_allows),
		cmocka_unit_test(
			what_is_not_a_whole_message_is_refused_with_its_reason),
		cmocka_unit_test(unknown_fields_are_ignored),
		cmocka_unit_test(
			a_text_over_its_limit_is_neither_sent_nor_taken),
		cmocka_unit_test(a_start_arrives_as_it_was_given),
		cmocka_unit_test(a_frame_is_read_only_when_it_is_whole),
		cmocka_unit_test(every_reason_has_an_outcome_that_may_be_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
