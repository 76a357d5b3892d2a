#include "lib/http/auth.h"
#include "lib/http/parse.h"
#include "lib/http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOST "Host: x\r\n"

static char copy[8192];
static struct http_head head;

/* The code of the failure, or ERR_OK. */
static enum err_code parse_request(const char *text)
{
	struct err e = {0};

	snprintf(copy, sizeof copy, "%s", text);
	assert_int_equal(http_head_size(copy, strlen(copy)), strlen(copy));
	return http_head_parse(copy, strlen(copy), &head, &e) ? e.code : ERR_OK;
}

static void a_request_is_cut_into_its_parts(void **state)
{
	(void)state;
	assert_int_equal(
		parse_request("POST /a%20b?c=d HTTP/1.1\r\n" HOST
			      "content-length:  12 \r\nX-Y: a: b\r\n\r\n"),
		ERR_OK);
	assert_string_equal(head.method, "POST");
	assert_string_equal(head.target, "/a%20b?c=d");
	assert_int_equal(head.length, 12);
	assert_true(head.keep_alive);
	assert_string_equal(http_head_get(&head, "x-y"), "a: b");
	assert_null(http_head_get(&head, "x-z"));
}

static void half_a_head_is_waited_for(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\n" HOST "\r\n";

	(void)state;
	for (size_t n = 0; n < sizeof text - 1; n++)
		assert_int_equal(http_head_size(text, n), 0);
}

static void what_can_be_read_in_two_ways_is_refused(void **state)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\n\r\n", /* no Host */
		"GET / HTTP/1.1\r\n" HOST HOST "\r\n",
		"GET  / HTTP/1.1\r\n" HOST "\r\n",
		"GET / HTTP/1.1 x\r\n" HOST "\r\n",
		"GET x HTTP/1.1\r\n" HOST "\r\n",
		"G(T / HTTP/1.1\r\n" HOST "\r\n",
		"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
		"GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n",
		"GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n",
		"GET / HTTP/1.1\r\n" HOST ": empty\r\n\r\n",
		"GET / HTTP/1.1\n" HOST "\r\n",
		"GET / HTTP/1.1\r\n" HOST "A: \x01\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
		"Content-Length: 1\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST
		"Content-Length: 99999999999999999999\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
		"\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (parse_request(bad[i]) != ERR_USAGE)
			fail_msg("taken: %s", bad[i]);
}

static void what_is_not_spoken_here_is_said_so(void **state)
{
	(void)state;
	assert_int_equal(parse_request("GET / HTTP/2.0\r\n" HOST "\r\n"),
			 ERR_UNSUPPORTED);
	assert_int_equal(parse_request("POST / HTTP/1.1\r\n" HOST
				       "Transfer-Encoding: gzip\r\n\r\n"),
			 ERR_UNSUPPORTED);
}

static void too_many_headers_are_refused(void **state)
{
	struct buf b = BUF_MAX(8000);

	(void)state;
	buf_adds(&b, "GET / HTTP/1.1\r\n");
	for (int i = 0; i <= HTTP_HEADERS_MAX; i++)
		buf_addf(&b, "X-%d: y\r\n", i);
	buf_adds(&b, "\r\n");
	assert_int_equal(parse_request(b.p), ERR_HEADTOOBIG);
	buf_fini(&b);
}

static void connection_options_are_words_of_a_list(void **state)
{
	(void)state;
	parse_request("GET / HTTP/1.1\r\n" HOST "Connection: x, Close\r\n\r\n");
	assert_false(head.keep_alive);
	parse_request("GET / HTTP/1.0\r\n\r\n");
	assert_false(head.keep_alive);
	parse_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_true(head.keep_alive);
	parse_request("GET / HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n");
	assert_true(head.keep_alive);
}

static int decode_value(const char *text, bool form)
{
	struct err e;

	snprintf(copy, sizeof copy, "%s", text);
	return http_decode(copy, form, &e);
}

static void addresses_are_decoded_once(void **state)
{
	(void)state;
	assert_int_equal(decode_value("a%2Fb+c%252F", false), 0);
	assert_string_equal(copy, "a/b+c%2F");
	assert_int_equal(decode_value("a+b%2B", true), 0);
	assert_string_equal(copy, "a b+");
	assert_int_equal(decode_value("%c3%a9", false), 0);
	assert_int_equal(decode_value("%", false), -1);
	assert_int_equal(decode_value("%4", false), -1);
	assert_int_equal(decode_value("%zz", false), -1);
	assert_int_equal(decode_value("%00", false), -1);
	assert_int_equal(decode_value("%0a", false), -1);
	assert_int_equal(decode_value("%c3", false), -1);
}

static void a_query_is_pairs(void **state)
{
	struct http_pair out[4];
	char q[] = "a=1&&b=x%26y&c&d==";
	char many[] = "a&b&c&d&e";
	struct err e;

	(void)state;
	assert_int_equal(http_query_parse(q, out, 4, &e), 4);
	assert_string_equal(out[1].value, "x&y");
	assert_string_equal(out[2].value, "");
	assert_string_equal(out[3].value, "=");
	assert_int_equal(http_query_parse(many, out, 4, &e), -1);
}

/* 1: the end, 0: more, -1: bad. Fed in pieces of every size. */
static int chunks(const char *text, const char *body)
{
	size_t n = strlen(text);
	int rc = 0;

	for (size_t piece = 1; piece <= n; piece++) {
		struct http_chunks c = {0};
		struct buf b = BUF_MAX(64);
		struct err e;

		rc = 0;
		for (size_t at = 0; at < n && rc == 0;) {
			size_t len = n - at < piece ? n - at : piece, used = 0;

			rc = http_chunks_read(&c, text + at, len, &b, &used,
					      &e);
			at += used;
		}
		if (rc >= 0)
			assert_string_equal(b.p, body);
		buf_fini(&b);
	}
	return rc;
}

static void chunks_become_a_body(void **state)
{
	(void)state;
	assert_int_equal(chunks("3\r\nabc\r\n0\r\n\r\n", "abc"), 1);
	assert_int_equal(chunks("1\r\na\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n"
				"\r\n",
				"a0123456789"),
			 1);
	assert_int_equal(chunks("5\r\nab", "ab"), 0);
	assert_int_equal(chunks("\r\n", ""), -1);
	assert_int_equal(chunks("g\r\n", ""), -1);
	assert_int_equal(chunks("3\r\nabcd\r\n", ""), -1);
	assert_int_equal(chunks("ffffffffffffffffff\r\n", ""), -1);
	assert_int_equal(chunks("41\r\n"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaa\r\n",
				""),
			 -1);
}

static void nothing(void *app, const struct http_request *r,
		    struct http_reply *reply)
{
	(void)app, (void)r, (void)reply;
}

static const struct http_route rows[] = {
	{.method = "GET", .path = "/v1/runs", .handle = nothing},
	{.method = "POST", .path = "/v1/runs", .handle = nothing},
	{.method = "GET", .path = "/v1/runs/{id}", .handle = nothing},
	{.method = "GET",
	 .path = "/v1/sessions/{agent}/{key}/events",
	 .handle = nothing},
};
static const struct http_routes routes = {.rows = rows, .n = 4};

static enum err_code find_route(const char *method, const char *path, int want)
{
	struct arena a = {0};
	struct http_match m;
	struct err e = {0};
	int rc = http_route_find(&routes, method, path, &a, &m, &e);

	if (rc == 0) {
		assert_ptr_equal(m.route, &rows[want]);
		if (want == 3) {
			assert_string_equal(m.params[0].value, "bot");
			assert_string_equal(m.params[1].value, "a/b");
			assert_string_equal(m.params[1].name, "key");
		}
	}
	arena_fini(&a);
	return rc ? e.code : ERR_OK;
}

static void a_path_finds_its_route_and_no_other(void **state)
{
	struct buf allow = BUF_MAX(64);

	(void)state;
	assert_int_equal(find_route("GET", "/v1/runs", 0), ERR_OK);
	assert_int_equal(find_route("HEAD", "/v1/runs", 0), ERR_OK);
	assert_int_equal(find_route("POST", "/v1/runs", 1), ERR_OK);
	assert_int_equal(find_route("GET", "/v1/runs/r1", 2), ERR_OK);
	assert_int_equal(find_route("GET", "/v1/sessions/bot/a%2Fb/events", 3),
			 ERR_OK);
	assert_int_equal(find_route("GET", "/v1/sessions/bot/a/b/events", 3),
			 ERR_NOTFOUND);
	assert_int_equal(find_route("GET", "/v1/runs/", 0), ERR_NOTFOUND);
	assert_int_equal(find_route("GET", "/v1/runs//", 0), ERR_NOTFOUND);
	assert_int_equal(find_route("GET", "/", 0), ERR_NOTFOUND);
	assert_int_equal(find_route("GET", "/v1/runs/%zz", 0), ERR_USAGE);
	assert_int_equal(find_route("DELETE", "/v1/runs", 0), ERR_METHOD);
	http_route_allow(&routes, "/v1/runs", &allow);
	assert_string_equal(allow.p, "GET, POST");
	buf_fini(&allow);
}

static void only_our_own_names_are_a_host(void **state)
{
	const char *const known[] = {"box.lan", NULL};

	(void)state;
	assert_true(http_host_is_ours("localhost:80", NULL));
	assert_true(http_host_is_ours("127.0.0.1", NULL));
	assert_true(http_host_is_ours("[::1]:7411", NULL));
	assert_true(http_host_is_ours("BOX.lan:1", known));
	assert_false(http_host_is_ours("box.lan", NULL));
	assert_false(http_host_is_ours("evil.example", known));
	assert_false(http_host_is_ours("localhost.evil.example", known));
	assert_false(http_host_is_ours("localhost:80@evil", known));
	assert_false(http_host_is_ours("127.0.0.1.evil", known));
	assert_false(http_host_is_ours("[::1", known));
	assert_false(http_host_is_ours("", known));
	assert_false(http_host_is_ours(NULL, known));
}

static void only_our_own_pages_are_an_origin(void **state)
{
	const char *const allowed[] = {"https://ui.example", NULL};

	(void)state;
	assert_true(
		http_origin_is_ours("http://localhost:1", "localhost:1", NULL));
	assert_true(http_origin_is_ours("https://ui.example", "x", allowed));
	assert_false(http_origin_is_ours("http://localhost:2", "localhost:1",
					 allowed));
	assert_false(http_origin_is_ours("null", "localhost:1", allowed));
	assert_false(http_origin_is_ours("http://evil", "localhost:1", NULL));
}

static void a_token_is_known_by_its_hash(void **state)
{
	char token[HTTP_TOKEN_SIZE], other[HTTP_TOKEN_SIZE];
	char a[HASH_HEX], b[HASH_HEX];

	(void)state;
	http_token_new(token);
	http_token_new(other);
	assert_int_equal(strlen(token), 69);
	http_token_hash(token, a);
	http_token_hash(token, b);
	assert_true(http_token_equal(a, b));
	http_token_hash(other, b);
	assert_false(http_token_equal(a, b));
	assert_false(http_token_equal(a, ""));
	assert_string_equal(http_bearer("bearer  x"), "x");
	assert_null(http_bearer("Bearer "));
	assert_null(http_bearer("Basic x"));
	assert_null(http_bearer(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_cut_into_its_parts),
		cmocka_unit_test(half_a_head_is_waited_for),
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(what_is_not_spoken_here_is_said_so),
		cmocka_unit_test(too_many_headers_are_refused),
		cmocka_unit_test(connection_options_are_words_of_a_list),
		cmocka_unit_test(addresses_are_decoded_once),
		cmocka_unit_test(a_query_is_pairs),
		cmocka_unit_test(chunks_become_a_body),
		cmocka_unit_test(a_path_finds_its_route_and_no_other),
		cmocka_unit_test(only_our_own_names_are_a_host),
		cmocka_unit_test(only_our_own_pages_are_an_origin),
		cmocka_unit_test(a_token_is_known_by_its_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
