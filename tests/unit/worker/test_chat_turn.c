/* Answers put together from whatever servers stream. */
#include "worker/driver/chat/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Feeds lines of data, NULL at the end. */
static void feed(struct chat_turn *t, const char *const *lines)
{
	struct err e;

	chat_turn_init(t);
	for (; *lines; lines++)
		if (chat_turn_data(t, *lines, strlen(*lines), &e))
			fail_msg("%s: %s", *lines, e.text);
}

#define DELTA(d) "{\"choices\":[{\"delta\":" d "}]}"
#define CALL(c)  DELTA("{\"tool_calls\":[" c "]}")
#define FN(n, a) "\"function\":{\"name\":\"" n "\",\"arguments\":\"" a "\"}"

static void texts_and_thoughts_are_joined(void **state)
{
	static const char *const lines[] = {
		DELTA("{\"role\":\"assistant\",\"content\":null}"),
		DELTA("{\"reasoning_content\":\"h\"}"),
		DELTA("{\"reasoning\":\"m\"}"),
		DELTA("{\"content\":\"a\"}"),
		DELTA("{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}"),
		"{\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
		"\"completion_tokens\":2,\"prompt_tokens_details\":"
		"{\"cached_tokens\":1}}}",
		"[DONE]",
		"this is after the end",
		NULL};
	struct chat_turn t;
	struct err e;

	(void)state;
	feed(&t, lines);
	assert_int_equal(chat_turn_end(&t, 1, &e), 0);
	assert_string_equal(t.text.p, "ab");
	assert_string_equal(t.reasoning.p, "hm");
	assert_string_equal(t.finish, "stop");
	assert_int_equal(t.usage.input, 3);
	assert_int_equal(t.usage.cached, 1);
	assert_true(t.over);
	chat_turn_fini(&t);
}

static const char *const tags[][2] = {
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"},
	{"[THINK]", "[/THINK]"},
	{"\u25c1think\u25b7", "\u25c1/think\u25b7"},
	{"<|START_THINKING|>", "<|END_THINKING|>"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"},
};

/* The pieces that were told to grow must give the same as the whole. */
struct shown {
	struct buf text, reasoning;
};

static int show_piece(void *arg, enum chat_grows what, int call,
		      const char *text, size_t n, struct err *e)
{
	struct shown *s = arg;

	(void)call;
	(void)e;
	if (what == CHAT_THOUGHT) {
		buf_add(&s->reasoning, s->text.p, s->text.n);
		buf_clear(&s->text);
	}
	buf_add(what == CHAT_TEXT ? &s->text : &s->reasoning, text, n);
	return 0;
}

static const char *buf_text(const struct buf *b)
{
	return b->n ? b->p : "";
}

/* An answer in pieces of so many bytes. */
static void feed_answer(struct chat_turn *t, const char *text, size_t piece)
{
	struct shown s = {BUF_MAX(4096), BUF_MAX(4096)};
	struct err e;

	chat_turn_init(t);
	t->grew = show_piece;
	t->arg = &s;
	for (size_t i = 0, n = strlen(text); i < n; i += piece) {
		char part[256];
		cJSON *v;

		snprintf(part, sizeof part, "%.*s", (int)piece, text + i);
		v = cJSON_CreateString(part);
		if (chat_turn_text(t, CHAT_TEXT, v, &e))
			fail_msg("%s: %s", text, e.text);
		cJSON_Delete(v);
	}
	chat_turn_finish(t, "stop");
	assert_int_equal(chat_turn_end(t, 1, &e), 0);
	assert_string_equal(buf_text(&s.text), buf_text(&t->text));
	assert_string_equal(buf_text(&s.reasoning), buf_text(&t->reasoning));
	buf_fini(&s.text);
	buf_fini(&s.reasoning);
}

static void reasoning_may_stand_between_tags_or_before_the_last(void **state)
{
	struct chat_turn t;

	(void)state;
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
		for (size_t piece = 1; piece < 9; piece++) {
			char text[256];

			for (int with = 0; with < 2; with++) {
				snprintf(text, sizeof text,
					 "%sa < b [c]</d>\n%s\n\nyes </b> %s",
					 with ? tags[i][0] : "", tags[i][1],
					 tags[i][1]);
				feed_answer(&t, text, piece);
				assert_string_equal(buf_text(&t.reasoning),
						    "a < b [c]</d>\n");
				snprintf(text, sizeof text, "yes </b> %s",
					 tags[i][1]);
				assert_string_equal(buf_text(&t.text), text);
				assert_string_equal(t.field, tags[i][0]);
				chat_turn_fini(&t);
			}
		}
	}
}

static void tags_that_are_only_mentioned_are_text(void **state)
{
	static const char *const texts[] = {"write `</think>` at the end",
					    "```\n</think>\n```\ndone",
					    "the word \"</think>\" is a tag",
					    "the word '</think>' is a tag",
					    "say <think>x</think> and </think>",
					    "x </think",
					    "x </thinker> y",
					    "a << b <",
					    "` <"};
	struct chat_turn t;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (size_t piece = 1; piece < 9; piece++) {
			feed_answer(&t, texts[i], piece);
			assert_string_equal(buf_text(&t.text), texts[i]);
			assert_int_equal(t.reasoning.n, 0);
			chat_turn_fini(&t);
		}
	}
}

static void calls_with_one_index_and_two_ids_are_two(void **state)
{
	static const char *const lines[] = {
		CALL("{\"index\":0,\"id\":\"a\"," FN("f", "{}") "}"),
		CALL("{\"index\":0,\"id\":\"b\"," FN("g", "") "}"),
		CALL("{\"index\":0,\"id\":\"b\"," FN("", "[") "}"),
		CALL("{\"index\":0," FN("", "]") "}"), NULL};
	struct chat_turn t;
	struct err e;

	(void)state;
	feed(&t, lines);
	assert_int_equal(chat_turn_end(&t, 1, &e), 0);
	assert_int_equal(t.ncalls, 2);
	assert_string_equal(t.calls[1].name, "g");
	assert_string_equal(t.calls[1].args.p, "[]");
	assert_string_equal(t.finish, "tool_calls");
	chat_turn_fini(&t);
}

static void calls_with_one_id_and_two_indexes_are_two(void **state)
{
	static const char *const lines[] = {
		CALL("{\"index\":0,\"id\":\"a\"," FN("f", "{") "}"),
		CALL("{\"index\":1,\"id\":\"a\"," FN("f", "[") "}"),
		CALL("{\"index\":0,\"id\":\"a\"," FN("", "}") "}"),
		CALL("{\"index\":1," FN("", "]") "}"), NULL};
	struct chat_turn t;

	(void)state;
	feed(&t, lines);
	assert_int_equal(t.ncalls, 2);
	assert_string_equal(t.calls[0].args.p, "{}");
	assert_string_equal(t.calls[1].args.p, "[]");
	chat_turn_fini(&t);
}

#define MESSAGE(text)                                   \
	"{\"type\":\"message\",\"content\":[{\"type\":" \
	"\"output_text\",\"text\":\"" text "\"}]}"
#define EVENT(type, rest) "{\"type\":\"response." type "\"," rest "}"

/* Bits of `how`: deltas, the message at its end, the whole answer. */
static void texts_of_responses_come_once_in_any_way(void **state)
{
	(void)state;
	for (int how = 1; how < 8; how++) {
		const char *lines[8];
		struct chat_turn t;
		int n = 0;

		for (int i = 0; i < 2; i++) {
			if (how & 1)
				lines[n++] = EVENT("output_text.delta",
						   "\"delta\":\"ab\"");
			if (how & 2)
				lines[n++] = EVENT("output_item.done",
						   "\"item\":" MESSAGE("ab"));
		}
		lines[n++] =
			how & 4 ? EVENT("completed",
					"\"response\":{\"output\":[" MESSAGE(
						"ab") "," MESSAGE("ab") "]}")
				: EVENT("completed", "\"response\":{}");
		lines[n] = NULL;
		feed(&t, lines);
		assert_string_equal(t.text.p, "abab");
		chat_turn_fini(&t);
	}
}

/* Only characters that are lost count. */
static void control_characters_are_kept(void **state)
{
	static const char *const lines[] = {
		DELTA("{\"content\":\"\t\t\t\n\x01\xff\"}"), NULL};
	struct chat_turn t;

	(void)state;
	feed(&t, lines);
	assert_string_equal(t.text.p, "\t\t\t\n\x01\xef\xbf\xbd");
	assert_int_equal(t.replaced, 1);
	chat_turn_fini(&t);
}

static void names_may_come_in_pieces_or_again(void **state)
{
	static const char *const lines[] = {
		CALL("{\"index\":0,\"id\":\"a\"," FN("get_", "") "}"),
		CALL("{\"index\":0," FN("rain", "") "}"),
		CALL("{\"index\":1,\"id\":\"b\"," FN("sun", "") "}"),
		CALL("{\"index\":1," FN("sun", "{") "}"),
		CALL("{\"index\":1," FN("sun", "}") "}"),
		NULL};
	struct chat_turn t;

	(void)state;
	feed(&t, lines);
	assert_string_equal(t.calls[0].name, "get_rain");
	assert_string_equal(t.calls[1].name, "sun");
	assert_string_equal(t.calls[1].args.p, "{}");
	chat_turn_fini(&t);
}

static void without_index_and_id_a_name_begins_a_call(void **state)
{
	static const char *const lines[] = {CALL("{" FN("f", "{") "}"),
					    CALL("{" FN("", "}") "}"),
					    CALL("{" FN("g", "{}") "}"), NULL};
	struct chat_turn t;
	struct err e;

	(void)state;
	feed(&t, lines);
	assert_int_equal(chat_turn_end(&t, 7, &e), 0);
	assert_int_equal(t.ncalls, 2);
	assert_string_equal(t.calls[0].args.p, "{}");
	assert_string_equal(t.calls[0].id, "call_7_0");
	assert_string_equal(t.calls[1].id, "call_7_1");
	chat_turn_fini(&t);
}

static void a_call_without_a_name_is_nobodys(void **state)
{
	static const char *const lines[] = {CALL("{\"index\":3,\"id\":\"a\"}"),
					    NULL};
	struct chat_turn t;
	struct err e;

	(void)state;
	feed(&t, lines);
	assert_int_equal(chat_turn_calls(&t), 0);
	assert_int_equal(chat_turn_end(&t, 1, &e), -1);
	assert_int_equal(e.code, ERR_PROTOCOL);
	chat_turn_fini(&t);
}

static void arguments_become_an_object_or_a_word_for_the_model(void **state)
{
	static const struct {
		const char *args, *want; /* NULL: refused */
	} all[] = {
		{"", "{}"},
		{"null", "{}"},
		{"{\"a\":1}", "{\"a\":1}"},
		{"\"{\\\"a\\\":1}\"", "{\"a\":1}"},
		{"[1]", NULL},
		{"{\"a\":", NULL},
		{"\"text\"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct chat_call c = {.args = BUF_MAX(1000)};
		struct buf b = BUF_MAX(1000);
		struct err e = {0};
		cJSON *v;

		buf_adds(&c.args, all[i].args);
		v = chat_call_args(&c, &e);
		assert_int_equal(v != NULL, all[i].want != NULL);
		if (v)
			json_add(&b, v);
		if (v)
			assert_string_equal(b.p, all[i].want);
		else
			assert_true(e.text[0] != '\0');
		cJSON_Delete(v);
		buf_fini(&b);
		buf_fini(&c.args);
	}
}

static void an_error_in_the_stream_is_kept(void **state)
{
	static const char *const lines[] = {
		"{\"error\":{\"message\":\"busy\",\"code\":\"overloaded\"}}",
		NULL};
	struct chat_turn t;
	struct err e;

	(void)state;
	feed(&t, lines);
	assert_string_equal(t.error.p, "busy");
	assert_string_equal(t.error_code, "overloaded");
	assert_int_equal(chat_turn_data(&t, "{", 1, &e), -1);
	assert_int_equal(e.code, ERR_PROTOCOL);
	chat_turn_fini(&t);
}

/* The server would get another id back than it gave. */
static void an_id_that_is_too_long_is_an_error(void **state)
{
	static const char *const forms[] = {
		CALL("{\"id\":\"@\"," FN("f", "{}") "}"),
		CALL("{\"id\":\"a\"," FN("@", "{}") "}"),
		"{\"object\":\"response\",\"output\":[{\"type\":"
		"\"function_call\",\"call_id\":\"@\",\"name\":\"f\","
		"\"arguments\":\"{}\"}]}"};
	char id[CHAT_NAME + 1], line[2 * CHAT_NAME];

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		bool fits = i % 2;
		const char *at;
		struct chat_turn t;
		struct err e;
		int rc;

		memset(id, 'x', sizeof id);
		id[fits ? CHAT_NAME - 1 : CHAT_NAME] = '\0';
		at = strchr(forms[i / 2], '@');
		snprintf(line, sizeof line, "%.*s%s%s",
			 (int)(at - forms[i / 2]), forms[i / 2], id, at + 1);
		chat_turn_init(&t);
		rc = chat_turn_data(&t, line, strlen(line), &e);
		assert_int_equal(rc, fits ? 0 : -1);
		if (!fits)
			assert_int_equal(e.code, ERR_TOOBIG);
		else
			assert_int_equal(t.ncalls, 1);
		chat_turn_fini(&t);
	}
}

static void too_many_calls_are_refused(void **state)
{
	struct chat_turn t;
	struct err e = {0};
	int rc = 0;

	(void)state;
	chat_turn_init(&t);
	for (int i = 0; rc == 0 && i < 1000; i++) {
		char line[200];

		snprintf(line, sizeof line,
			 CALL("{\"index\":%d,\"id\":\"i%d\"}"), i, i);
		rc = chat_turn_data(&t, line, strlen(line), &e);
	}
	assert_int_equal(rc, -1);
	assert_int_equal(e.code, ERR_TOOBIG);
	chat_turn_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_and_thoughts_are_joined),
		cmocka_unit_test(calls_with_one_index_and_two_ids_are_two),
		cmocka_unit_test(calls_with_one_id_and_two_indexes_are_two),
		cmocka_unit_test(texts_of_responses_come_once_in_any_way),
		cmocka_unit_test(control_characters_are_kept),
		cmocka_unit_test(names_may_come_in_pieces_or_again),
		cmocka_unit_test(without_index_and_id_a_name_begins_a_call),
		cmocka_unit_test(a_call_without_a_name_is_nobodys),
		cmocka_unit_test(
			arguments_become_an_object_or_a_word_for_the_model),
		cmocka_unit_test(an_error_in_the_stream_is_kept),
		cmocka_unit_test(an_id_that_is_too_long_is_an_error),
		cmocka_unit_test(too_many_calls_are_refused),
		cmocka_unit_test(
			reasoning_may_stand_between_tags_or_before_the_last),
		cmocka_unit_test(tags_that_are_only_mentioned_are_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
