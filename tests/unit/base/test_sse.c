#include "lib/json/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Events as text: id|event|data, one per line. */
static int note_event(void *arg, const struct sse_event *ev)
{
	struct buf *b = arg;

	buf_addf(b, "%s|%s|", ev->id, ev->event);
	buf_add(b, ev->data, ev->n);
	buf_addc(b, ';');
	return 0;
}

static void parse_in_pieces(const char *text, size_t n, size_t piece,
			    struct buf *out)
{
	struct sse_parser p;
	struct err e = {0};

	sse_parser_init(&p, 4096);
	for (size_t at = 0; at < n; at += piece) {
		size_t len = n - at < piece ? n - at : piece;

		assert_int_equal(
			sse_parse(&p, text + at, len, note_event, out, &e), 0);
	}
	sse_parser_fini(&p);
}

static void expect(const char *text, const char *events)
{
	size_t n = strlen(text);

	for (size_t piece = 1; piece <= n; piece++) {
		struct buf out = BUF_MAX(1 << 16);

		parse_in_pieces(text, n, piece, &out);
		assert_string_equal(out.p, events);
		buf_fini(&out);
	}
}

static void events_are_read_in_whatever_pieces_they_arrive(void **state)
{
	(void)state;
	expect("data: a\n\n", "|message|a;");
	expect("id: 7\nevent: part\ndata: {\"x\":1}\n\n", "7|part|{\"x\":1};");
	expect("data: a\n\ndata: b\n\n", "|message|a;|message|b;");
}

static void all_three_line_ends_are_line_ends(void **state)
{
	(void)state;
	expect("data: a\r\n\r\n", "|message|a;");
	expect("data: a\r\r", "|message|a;");
	expect("data: a\rdata: b\r\n\n", "|message|a\nb;");
}

static void several_data_lines_are_joined(void **state)
{
	(void)state;
	expect("data: a\ndata:\ndata:  b\n\n", "|message|a\n\n b;");
	expect("data\n\n", "|message|;");
}

static void comments_and_unknown_fields_are_passed_over(void **state)
{
	(void)state;
	expect(": beat\n\n: x\ndata: a\nfoo: bar\n\n", "|message|a;");
}

static void an_event_without_data_is_none(void **state)
{
	(void)state;
	expect("event: x\n\ndata: a\n\n", "|message|a;");
	expect("data: half", "");
}

static void the_last_id_stays_until_there_is_another(void **state)
{
	(void)state;
	expect("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
	       "1|message|a;1|message|b;|message|c;");
}

static void a_byte_order_mark_is_dropped_once(void **state)
{
	(void)state;
	expect("\xef\xbb\xbf"
	       "data: a\n\n",
	       "|message|a;");
}

static void a_line_over_the_ceiling_is_refused(void **state)
{
	struct sse_parser p;
	struct buf out = BUF_MAX(64);
	struct err e = {0};
	char flood[100];

	(void)state;
	memset(flood, 'x', sizeof flood);
	sse_parser_init(&p, 64);
	assert_int_equal(
		sse_parse(&p, flood, sizeof flood, note_event, &out, &e), -1);
	assert_int_equal(e.code, ERR_TOOBIG);
	sse_parser_fini(&p);
	buf_fini(&out);
}

static int stop_at_first(void *arg, const struct sse_event *ev)
{
	(void)ev;
	++*(int *)arg;
	return 42;
}

static void the_reader_can_stop(void **state)
{
	const char *text = "data: a\n\ndata: b\n\n";
	struct sse_parser p;
	struct err e = {0};
	int calls = 0;

	(void)state;
	sse_parser_init(&p, 64);
	assert_int_equal(
		sse_parse(&p, text, strlen(text), stop_at_first, &calls, &e),
		42);
	assert_int_equal(calls, 1);
	sse_parser_fini(&p);
}

static void what_is_written_is_read_again(void **state)
{
	static const char *const data[] = {
		"",     "plain",         "two\nlines",      "ends\n",
		"\n\n", "{\"a\":\"b\"}", ": not a comment", " leading",
	};

	(void)state;
	for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) {
		struct buf text = BUF_MAX(4096), want = BUF_MAX(4096);

		sse_format_comment(&text, "beat");
		sse_format(&text, &(struct sse_event){.id = "9",
						      .event = "e",
						      .data = data[i],
						      .n = strlen(data[i])});
		buf_addf(&want, "9|e|%s;", data[i]);
		expect(text.p, want.p);
		buf_fini(&text);
		buf_fini(&want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			events_are_read_in_whatever_pieces_they_arrive),
		cmocka_unit_test(all_three_line_ends_are_line_ends),
		cmocka_unit_test(several_data_lines_are_joined),
		cmocka_unit_test(comments_and_unknown_fields_are_passed_over),
		cmocka_unit_test(an_event_without_data_is_none),
		cmocka_unit_test(the_last_id_stays_until_there_is_another),
		cmocka_unit_test(a_byte_order_mark_is_dropped_once),
		cmocka_unit_test(a_line_over_the_ceiling_is_refused),
		cmocka_unit_test(the_reader_can_stop),
		cmocka_unit_test(what_is_written_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
