/* What comes out of a command: lines, and what they mean. */
#include "lib/json/json.h"
#include "lib/json/lines.h"
#include "worker/process/output_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct seen {
	char text[4096];
	int n;
};

/* "text|" for a line, "text+" for a piece of one. */
static int see(void *arg, const struct line *line, struct err *e)
{
	struct seen *s = arg;
	size_t at = strlen(s->text);

	(void)e;
	s->n++;
	snprintf(s->text + at, sizeof s->text - at, "%.*s%c", (int)line->n,
		 line->p,
		 !line->last   ? '+'
		 : line->whole ? '|'
			       : '/');
	return 0;
}

static void cut(const char *text, size_t max, size_t at_a_time, struct seen *s)
{
	struct lines l;
	struct err e;
	size_t n = strlen(text);

	*s = (struct seen){0};
	lines_init(&l, max);
	for (size_t i = 0; i < n; i += at_a_time)
		lines_add(&l, text + i, n - i < at_a_time ? n - i : at_a_time,
			  see, s, &e);
	lines_end(&l, see, s, &e);
	lines_fini(&l);
}

static void lines_are_the_same_however_they_arrive(void **state)
{
	struct seen s;

	(void)state;
	for (size_t n = 1; n < 20; n++) {
		cut("one\n\ntwo\nthree", 100, n, &s);
		assert_string_equal(s.text, "one||two|three|");
	}
}

static void a_long_line_comes_in_pieces(void **state)
{
	struct seen s;

	(void)state;
	for (size_t n = 1; n < 20; n++) {
		cut("abcdefghij\nk\n", 4, n, &s);
		assert_string_equal(s.text, "abcd+efgh+ij/k|");
	}
	cut("abcd\n", 4, 5, &s); /* exactly as long as allowed */
	assert_string_equal(s.text, "abcd+/");
	cut("", 4, 5, &s);
	assert_int_equal(s.n, 0);
}

static struct exec_line meaning(const char *text, struct arena *a)
{
	struct line line = {.p = text,
			    .n = strlen(text),
			    .whole = true,
			    .first = true,
			    .last = true};
	struct exec_line x;

	exec_line(&line, "output", "run_1", a, &x);
	return x;
}

static void an_object_with_a_type_is_an_event(void **state)
{
	struct arena a = {0};
	struct exec_line x = meaning("{\"type\":\"plan\",\"n\":[1]}", &a);

	(void)state;
	assert_int_equal(x.kind, EXEC_EVENT);
	assert_string_equal(x.event.type, "plan");
	assert_string_equal(x.event.body, "{\"n\":[1]}");
	assert_null(x.event.key);
	arena_fini(&a);
}

static void anything_else_is_output_as_it_stands(void **state)
{
	static const char *const plain[] = {
		"hello",
		"",
		"{",
		"{\"type\":7}",
		"[1]",
		"{\"type\":\"\"}",
		"{\"type\":\"a b\"}",
		" {\"type\":\"note\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		struct arena a = {0};
		struct err e;
		struct exec_line x = meaning(plain[i], &a);
		cJSON *v = json_parse("body", x.event.body,
				      strlen(x.event.body), &e);

		assert_string_equal(x.event.type, "output");
		assert_string_equal(json_text(v, "text", NULL), plain[i]);
		cJSON_Delete(v);
		arena_fini(&a);
	}
}

static void words_of_the_worker_cannot_be_forged(void **state)
{
	struct arena a = {0};
	struct exec_line x = meaning("{\"type\":\"cancelled\"}", &a);

	(void)state;
	assert_string_equal(x.event.type, "raw");
	assert_string_equal(x.event.body, "{\"type\":\"cancelled\"}");
	arena_fini(&a);
}

static void a_key_is_the_runs_own(void **state)
{
	struct arena a = {0};
	struct exec_line x = meaning(
		"{\"type\":\"note\",\"key\":\"k\",\"outbox\":"
		"{\"target\":{\"c\":1}}}",
		&a);

	(void)state;
	assert_string_equal(x.event.key, "exec:run_1:k");
	assert_non_null(x.event.outbox);
	assert_string_equal(x.event.outbox->target, "{\"c\":1}");
	x = meaning("{\"type\":\"note\",\"outbox\":{\"target\":{}}}", &a);
	assert_null(x.event.outbox); /* without a key it could go out twice */
	arena_fini(&a);
}

static void nonsense_in_usage_is_not_summed(void **state)
{
	struct arena a = {0};
	struct exec_line x = meaning("{\"type\":\"usage\",\"input_tokens\":-1}",
				     &a);

	(void)state;
	assert_null(x.event.usage);
	x = meaning("{\"type\":\"usage\",\"cost_micros\":2}", &a);
	assert_int_equal(x.event.usage->cost_nano, 2000);
	arena_fini(&a);
}

static void a_fallback_that_nobody_knows_is_a_denial(void **state)
{
	struct arena a = {0};
	struct exec_line x = meaning("{\"type\":\"approval\",\"key\":\"k\","
				     "\"title\":\"t\",\"fallback\":\"yes\"}",
				     &a);

	(void)state;
	assert_int_equal(x.kind, EXEC_APPROVAL);
	assert_string_equal(x.fallback, "deny");
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_the_same_however_they_arrive),
		cmocka_unit_test(a_long_line_comes_in_pieces),
		cmocka_unit_test(an_object_with_a_type_is_an_event),
		cmocka_unit_test(anything_else_is_output_as_it_stands),
		cmocka_unit_test(words_of_the_worker_cannot_be_forged),
		cmocka_unit_test(a_key_is_the_runs_own),
		cmocka_unit_test(nonsense_in_usage_is_not_summed),
		cmocka_unit_test(a_fallback_that_nobody_knows_is_a_denial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
