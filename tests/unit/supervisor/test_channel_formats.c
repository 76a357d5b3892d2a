/* What is said with the outside: signatures, envelopes, lines of plugins. */
#include "lib/json/rpc_line.h"
#include "supervisor/channel/envelope.h"
#include "supervisor/channel/webhook/signature.h"
#include "supervisor/core/restart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The vector of the Standard Webhooks libraries. */
#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define ID     "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define WHEN   1614265330
#define BODY   "{\"test\": 2432232314}"
#define GOOD   "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define OTHER    \
	"whsec_" \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static struct blob body(const char *text)
{
	return (struct blob){text, strlen(text)};
}

static struct webhook_claim webhook_claim_of(const char *signatures)
{
	return (struct webhook_claim){
		.id = ID,
		.timestamp = "1614265330",
		.signatures = signatures,
		.body = body(BODY),
		.now_ms = WHEN * INT64_C(1000),
		.tolerance_ms = 300000,
	};
}

static struct webhook_keys *keys_of(const char *secrets)
{
	struct webhook_keys *k = NULL;
	struct err e = {0};

	if (webhook_keys_new(&k, secrets, &e))
		fail_msg("%s", e.text);
	return k;
}

static bool verified(const char *secrets, const struct webhook_claim *c)
{
	struct webhook_keys *k = keys_of(secrets);
	struct err e = {0};
	bool good = webhook_verify(k, c, &e) == 0;

	webhook_keys_free(k);
	return good;
}

static void signs(const char *secrets, const char *id, int64_t when,
		  const char *text, const char *want)
{
	struct webhook_keys *k = keys_of(secrets);
	struct buf out = BUF_MAX(1024);
	struct err e = {0};

	for (int i = 0; i < 2; i++) { /* the second time as the first */
		buf_clear(&out);
		assert_int_equal(
			webhook_sign(k, id, when, body(text), &out, &e), 0);
		assert_string_equal(out.p, want);
	}
	buf_fini(&out);
	webhook_keys_free(k);
}

static void a_signature_is_that_of_the_specification(void **state)
{
	(void)state;
	signs(SECRET, ID, WHEN, BODY, GOOD);
	signs("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
	      "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1649367553,
	      "{\"email\":\"test@example.com\",\"username\":\"test_user\"}",
	      "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
}

/* The pair of Svix's own test; the specification's example shows this
 * signature. */
#define SEED    "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMb"
#define PRIVATE "whsk_" SEED "c="
#define WHOLE   "whsk_" SEED "fVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
#define TORN    "whsk_" SEED "fVKIDij2HKpMKkioLlaaaaaaaaaaAJ6p9lMicMFs6Kvg=="
#define PUBLIC  "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
#define GOOD_PAIR                                        \
	"v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe" \
	"5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="

/* The first pair of RFC 8032; its signature was made by another library. */
#define RFC_PRIVATE "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
#define RFC_GOOD                                        \
	"v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELI" \
	"xbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw=="

static void a_pair_of_keys_signs_and_verifies(void **state)
{
	struct webhook_claim c = webhook_claim_of("v1,AAAA " GOOD_PAIR);
	struct webhook_keys *k;
	struct buf out = BUF_MAX(1024);
	struct err e = {0};

	(void)state;
	signs(PRIVATE, ID, WHEN, BODY, GOOD_PAIR);
	signs(WHOLE, ID, WHEN, BODY, GOOD_PAIR);
	signs(RFC_PRIVATE, ID, WHEN, BODY, RFC_GOOD);
	assert_true(verified(PUBLIC, &c));
	assert_true(verified(SECRET "\n" PUBLIC, &c));
	assert_false(verified(SECRET, &c));
	c.body = body("{\"test\": 2432232315}");
	assert_false(verified(PUBLIC, &c));
	c = webhook_claim_of("v1,"
			     "fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELI");
	assert_false(verified(PUBLIC, &c));
	k = keys_of(PUBLIC); /* what can only verify does not sign */
	assert_int_equal(webhook_sign(k, ID, WHEN, body(BODY), &out, &e), -1);
	assert_int_equal(e.code, ERR_CONFIG);
	webhook_keys_free(k);
	buf_fini(&out);
}

/* Both are sent, so that a receiver may know either: zero downtime. */
static void every_key_signs_during_a_rotation(void **state)
{
	(void)state;
	signs(SECRET "\n" PRIVATE "\n" PUBLIC "\n", ID, WHEN, BODY,
	      GOOD " " GOOD_PAIR);
}

static void any_good_signature_by_any_secret_will_do(void **state)
{
	struct webhook_claim one = webhook_claim_of(GOOD);
	struct webhook_claim many = webhook_claim_of("v1a,xyz v1,AAAA " GOOD
						     " v2,z");

	(void)state;
	assert_true(verified(SECRET, &one));
	assert_true(verified(SECRET, &many));
	assert_true(verified(OTHER "\n" SECRET "\n", &one)); /* rotation */
	assert_false(verified(OTHER, &one));
}

static void whatever_differs_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", "v1,", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		"g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		/* no padding, the other alphabet, unused bits, a
		 * space in it, a tail */
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE",
		"v1,g0hM9SsE-OTPJTGt_tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OF=",
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOL\tJ1OE=",
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=AAAA",
		"V1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		"v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="};
	struct webhook_claim c;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		c = webhook_claim_of(wrong[i]);
		assert_false(verified(SECRET, &c));
	}
	c = webhook_claim_of(GOOD);
	c.body = body("{\"test\": 2432232315}");
	assert_false(verified(SECRET, &c));
	c = webhook_claim_of(GOOD);
	c.id = "msg_other";
	assert_false(verified(SECRET, &c));
	c = webhook_claim_of(GOOD);
	c.timestamp = "1614265331";
	assert_false(verified(SECRET, &c));
	c = webhook_claim_of(GOOD);
	c.id = NULL;
	assert_false(verified(SECRET, &c));
	c = webhook_claim_of(GOOD);
	c.timestamp = "soon";
	assert_false(verified(SECRET, &c));
}

static void a_message_is_good_for_a_few_minutes_only(void **state)
{
	struct webhook_claim c = webhook_claim_of(GOOD);

	(void)state;
	c.now_ms = WHEN * INT64_C(1000) + 300000;
	assert_true(verified(SECRET, &c));
	c.now_ms++;
	assert_false(verified(SECRET, &c));
	c.now_ms = WHEN * INT64_C(1000) - 300000;
	assert_true(verified(SECRET, &c));
	c.now_ms--;
	assert_false(verified(SECRET, &c));
}

static void a_secret_is_checked_before_it_is_used(void **state)
{
	static const char *const wrong[] = {
		"",
		"hello",
		"whsec_",
		"whsec_AAAA",
		"whsec_!!!!",
		"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", /* 23 bytes */
		TORN,
		"whsk_AAAA",
		"whpk_" SEED,
		SECRET "\nwhsec_",
		OTHER "\n" OTHER "\n" OTHER "\n" OTHER "\n" OTHER,
	};

	(void)state;
	webhook_keys_free(keys_of(SECRET "\n" OTHER "\n"));
	webhook_keys_free(keys_of(SECRET " \r\n\r\n\t\n" OTHER "\r\n"));
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct webhook_keys *k = NULL;
		struct err e = {0};

		assert_int_equal(webhook_keys_new(&k, wrong[i], &e), -1);
		assert_int_equal(e.code, ERR_CONFIG);
	}
}

/* --- the envelope ----------------------------------------------------- */

#define ROUTING(direction, sender)                                           \
	"\"routing\":{\"id\":\"m-1\",\"channel\":\"devices\",\"direction\":" \
	"\"" direction "\",\"sender_id\":\"" sender                          \
	"\",\"timestamp\":\"2026-04-28T18:00:00Z\",\"metadata\":"            \
	"{\"channel_id\":\"7\"}}"
#define TEXT       "{\"content_type\":\"text\",\"body\":\"hi\",\"metadata\":{}}"
#define JSON(text) "{\"content_type\":\"json\",\"body\":" text "}"

#define SAID(when)                                                           \
	"{\"version\":\"0.1\",\"message_type\":\"message\",\"routing\":"     \
	"{\"id\":\"m-1\",\"channel\":\"devices\",\"direction\":\"inbound\"," \
	"\"sender_id\":\"phone\",\"timestamp\":\"" when                      \
	"\"},\"content\":[" TEXT "]}"

static const char *const valid[] = {
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"outbound", "phone") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"inbound", "phone") ",\"content\":[{\"content_type\":\"audio\","
				    "\"body\":\"UklGRg==\",\"metadata\":"
				    "{\"mime_type\":\"audio/m4a\"}}]}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"outbound", "server") ",\"content\":[],\"event\":{\"type\":"
				      "\"message.received\",\"ref_id\":\"x\"}}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"outbound", "server") ",\"content\":[],\"event\":{\"type\":"
				      "\"message.voiced\",\"ref_id\":null,"
				      "\"data\":{\"audio\":\"UklGRg==\"}}}",
	"{\"version\":\"0.1\",\"message_type\":\"request\",\"request_id\":"
	"\"r1\"," ROUTING("inbound", "phone") ",\"content\":[" JSON(
		"\"{\\\"method\\\":\\\"channels.list\\\"}\"") "]}",
	"{\"version\":\"0.1\",\"message_type\":\"response\",\"request_id\":"
	"\"r1\"," ROUTING("outbound", "server") ",\"content\":[" JSON(
		"\"{\\\"status\\\":\\\"ok\\\",\\\"data\\\":{}}\"") "],"
								   "\"event\":"
								   "null}",
	"{\"version\":\"0.1\",\"message_type\":\"stream\"," ROUTING(
		"outbound", "server") ",\"content\":[]}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"outbound", "server") ",\"content\":[],\"event\":{\"type\":"
				      "\"message.transcribed\",\"ref_id\":"
				      "\"x\",\"data\":{\"transcript\":"
				      "\"good day\"}}}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"inbound", "phone") ",\"content\":[],\"event\":{\"type\":"
				    "\"message.content_added\"}}",
	"{\"version\":\"0.1\",\"message_type\":\"response\",\"request_id\":"
	"\"r2\"," ROUTING("outbound", "server") ",\"content\":[" JSON(
		"\"{\\\"status\\\":\\\"error\\\",\\\"error\\\":{}}\"") "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\",\"request_id\":"
	"null," ROUTING("inbound", "phone") ",\"content\":[" TEXT "]}",
	SAID("2026-04-28T18:00:00.123456+02:00"),
	SAID("2026-04-28t23:59:60z"),
	SAID("2026-12-31T00:00:00-00:30"),
};

static const char *const invalid[] = {
	"{\"version\":\"9.9\",\"message_type\":\"message\"," ROUTING(
		"outbound", "phone") ",\"content\":[" TEXT "]}",
	"{\"message_type\":\"message\"," ROUTING(
		"outbound", "phone") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"outbound", "phone") ",\"content\":[]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"outbound", "phone") "}",
	"{\"version\":\"0.1\",\"message_type\":\"shout\"," ROUTING(
		"outbound", "phone") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"sideways", "phone") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"inbound", "") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\",\"content\":[" TEXT
	"]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"inbound", "phone") ",\"content\":[{\"content_type\":\"smell\"}"
				    "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"inbound", "phone") ",\"content\":[{\"content_type\":\"text\","
				    "\"body\":7}]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\"," ROUTING(
		"inbound",
		"phone") ",\"content\":[" TEXT
			 "],\"event\":{\"type\":\"message.received\"}}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"outbound", "server") ",\"content\":[" TEXT "],\"event\":"
				      "{\"type\":\"message.received\"}}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"outbound", "server") ",\"content\":[]}",
	"{\"version\":\"0.1\",\"message_type\":\"event\"," ROUTING(
		"outbound", "server") ",\"content\":[],\"event\":{\"type\":"
				      "\"door.opened\"}}",
	"{\"version\":\"0.1\",\"message_type\":\"request\"," ROUTING(
		"inbound", "phone") ",\"content\":[" JSON("\"{}\"") "]}",
	"{\"version\":\"0.1\",\"message_type\":\"request\",\"request_id\":"
	"\"r\"," ROUTING("inbound", "phone") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"response\",\"request_id\":"
	"\"r\"," ROUTING("outbound", "server") ",\"content\":[" JSON(
		"\"{}\"") "]"
			  ",\"event\":{\"type\":\"message.received\"}}",
	"{\"version\":\"0.1\",\"message_type\":\"message\",\"request_id\":"
	"\"\"," ROUTING("inbound", "phone") ",\"content\":[" TEXT "]}",
	"{\"version\":\"0.1\",\"message_type\":\"message\",\"request_id\":"
	"7," ROUTING("inbound", "phone") ",\"content\":[" TEXT "]}",
	SAID(""),
	SAID("yesterday"),
	SAID("2026-04-28"),
	SAID("2026-04-28T18:00:00"),
	SAID("2026-04-28 18:00:00Z"),
	SAID("2026-13-28T18:00:00Z"),
	SAID("2026-04-28T24:00:00Z"),
	SAID("2026-04-28T18:00:00.Z"),
	SAID("2026-04-28T18:00:00Z and more"),
	SAID("2026-04-28T18:00:00+0200"),
	SAID("2026-04-28T18:00:00+02:60"),
};

static cJSON *parse_json(const char *text)
{
	struct err e = {0};
	cJSON *json = json_parse_object("message", text, strlen(text), &e);

	if (!json)
		fail_msg("%s: %s", text, e.text);
	return json;
}

static void valid_envelopes_are_taken_and_invalid_ones_refused(void **state)
{
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof valid / sizeof valid[0]; i++) {
		cJSON *json = parse_json(valid[i]);

		if (envelope_check(json, &e))
			fail_msg("%s: %s", valid[i], e.text);
		cJSON_Delete(json);
	}
	for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
		cJSON *json = parse_json(invalid[i]);

		if (envelope_check(json, &e) == 0)
			fail_msg("taken: %s", invalid[i]);
		assert_int_equal(e.code, ERR_INVALID);
		cJSON_Delete(json);
	}
}

static void an_envelope_says_who_speaks_where(void **state)
{
	cJSON *json = parse_json(valid[1]);
	struct inbound_message m;
	struct err e = {0};
	const cJSON *file;

	(void)state;
	assert_int_equal(inbound_message_read(&m, json, &e), 0);
	assert_string_equal(m.external_id, "m-1");
	assert_string_equal(m.sender, "phone");
	assert_string_equal(m.peer, "7");
	assert_string_equal(m.type, "message");
	file = cJSON_GetArrayItem(cJSON_GetObjectItem(m.body, "attachments"),
				  0);
	assert_string_equal(json_text(file, "base64", ""), "UklGRg==");
	assert_string_equal(json_text(file, "type", ""), "audio/m4a");
	inbound_message_fini(&m);
	cJSON_Delete(json);
}

static void a_plain_message_needs_someone_and_something(void **state)
{
	static const char *const bad[] = {
		"{\"text\":\"hi\"}",
		"{\"sender\":\"a\"}",
		"{\"sender\":\"a\",\"text\":7}",
		"{\"sender\":\"a\\nb\",\"text\":\"hi\"}",
		"{\"sender\":\"a\",\"text\":\"hi\",\"kind\":\"crowd\"}",
		"{\"sender\":\"a\",\"text\":\"hi\",\"agent\":\"no/name\"}",
	};
	cJSON *json = parse_json("{\"sender\":\"a\",\"text\":\"hi\"}");
	struct inbound_message m;
	struct err e = {0};

	(void)state;
	assert_int_equal(inbound_message_read(&m, json, &e), 0);
	assert_string_equal(m.peer, "a");
	assert_null(m.external_id);
	inbound_message_fini(&m);
	cJSON_Delete(json);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		json = parse_json(bad[i]);
		if (inbound_message_read(&m, json, &e) == 0)
			fail_msg("taken: %s", bad[i]);
		cJSON_Delete(json);
	}
}

/* --- lines of plugins ------------------------------------------------- */

static void a_line_is_a_request_a_notice_or_an_answer(void **state)
{
	static const struct {
		const char *line, *method, *id;
		int64_t number;
	} good[] = {
		{"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}", "m",
		 "", -1},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"a\"}", "m",
		 "\"a\"", -1},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}", NULL, "7",
		 7},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"8\",\"error\":{\"code\":1}}",
		 NULL, "\"8\"", 8},
	};
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"jsonrpc\":\"1.0\",\"method\":\"m\"}",
		"{\"jsonrpc\":\"2.0\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":7}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[]}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"m\"} trailing",
	};
	struct rpc_line r;
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(rpc_line_read(&r, good[i].line,
					       strlen(good[i].line), &e),
				 0);
		if (good[i].method)
			assert_string_equal(r.method, good[i].method);
		else
			assert_null(r.method);
		assert_string_equal(r.id, good[i].id);
		assert_int_equal(r.number, good[i].number);
		rpc_line_fini(&r);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (rpc_line_read(&r, bad[i], strlen(bad[i]), &e) == 0)
			fail_msg("taken: %s", bad[i]);
}

static void a_line_of_many_small_values_is_refused(void **state)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"m\","
				   "\"params\":{\"a\":[0";
	struct buf b = BUF_MAX(1u << 20);
	struct rpc_line r;
	struct err e = {0};

	(void)state;
	for (int n = 90000; n <= 110000; n += 20000) {
		buf_clear(&b);
		buf_adds(&b, head);
		for (int i = 0; i < n; i++)
			buf_adds(&b, ",0");
		buf_adds(&b, "],\"t\":\",,\\\",,\"}}");
		if (n < 100000) {
			assert_int_equal(rpc_line_read(&r, b.p, b.n, &e), 0);
			rpc_line_fini(&r);
		} else {
			assert_int_equal(rpc_line_read(&r, b.p, b.n, &e), -1);
			assert_int_equal(e.code, ERR_TOOBIG);
		}
	}
	/* An answer could not name an id that is cut. */
	buf_clear(&b);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"");
	for (int i = 0; i < RPC_ID_MAX; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, "\"}");
	assert_int_equal(rpc_line_read(&r, b.p, b.n, &e), -1);
	/* Commas of a text count for nothing. */
	buf_clear(&b);
	buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"");
	for (int i = 0; i < 200000; i++)
		buf_addc(&b, ',');
	buf_adds(&b, "\"}");
	assert_int_equal(rpc_line_read(&r, b.p, b.n, &e), 0);
	rpc_line_fini(&r);
	buf_fini(&b);
}

/* --- starting again ---------------------------------------------------- */

static void each_failure_makes_the_wait_longer_up_to_a_minute(void **state)
{
	struct restart r = {0};
	int64_t longest = 0;

	(void)state;
	assert_int_equal(restart_wait(&r, 0), 0);
	for (int n = 1; n < 100; n++) {
		int64_t least, most, all = 500;

		for (int i = 1; i < n && all < 60000; i++)
			all *= 2;
		if (all > 60000)
			all = 60000;
		restart_failed(&r, 1000, 60000);
		least = restart_wait(&r, 0);
		most = restart_wait(&r, 1023);
		assert_int_equal(least, all / 2);
		assert_int_equal(most, all / 2 * 2);
		assert_true(restart_wait(&r, 512) > least &&
			    restart_wait(&r, 512) < most);
		assert_true(most >= longest);
		longest = most;
	}
	assert_int_equal(longest, 60000);
}

static void a_minute_of_good_life_makes_up_for_failures(void **state)
{
	struct restart r = {0};

	(void)state;
	for (int i = 0; i < 5; i++)
		restart_failed(&r, 1000, 60000);
	restart_running(&r, 2000);
	restart_failed(&r, 62000, 60000);
	assert_int_equal(r.failures, 6); /* not quite a minute */
	restart_running(&r, 100000);
	restart_failed(&r, 160001, 60000);
	assert_int_equal(r.failures, 1);
	restart_failed(&r, 900000, 60000); /* it was never well */
	assert_int_equal(r.failures, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_that_of_the_specification),
		cmocka_unit_test(a_pair_of_keys_signs_and_verifies),
		cmocka_unit_test(every_key_signs_during_a_rotation),
		cmocka_unit_test(any_good_signature_by_any_secret_will_do),
		cmocka_unit_test(whatever_differs_is_refused),
		cmocka_unit_test(a_message_is_good_for_a_few_minutes_only),
		cmocka_unit_test(a_secret_is_checked_before_it_is_used),
		cmocka_unit_test(
			valid_envelopes_are_taken_and_invalid_ones_refused),
		cmocka_unit_test(an_envelope_says_who_speaks_where),
		cmocka_unit_test(a_plain_message_needs_someone_and_something),
		cmocka_unit_test(a_line_is_a_request_a_notice_or_an_answer),
		cmocka_unit_test(a_line_of_many_small_values_is_refused),
		cmocka_unit_test(
			each_failure_makes_the_wait_longer_up_to_a_minute),
		cmocka_unit_test(a_minute_of_good_life_makes_up_for_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
