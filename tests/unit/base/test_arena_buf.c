/* Buffers with ceilings and arenas. */
#include "lib/base/arena.h"
#include "lib/base/buf.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_buffer_is_text_at_any_time(void **state)
{
	struct buf b = BUF_MAX(100);

	(void)state;
	assert_string_equal(b.p, "");
	buf_adds(&b, "ab");
	buf_addc(&b, 'c');
	buf_addf(&b, "-%d", 42);
	assert_string_equal(b.p, "abc-42");
	assert_int_equal(b.n, 6);
	buf_drop(&b, 4);
	assert_string_equal(b.p, "42");
	buf_clear(&b);
	assert_string_equal(b.p, "");
	buf_fini(&b);
	assert_string_equal(b.p, "");
}

static void a_buffer_takes_exactly_its_ceiling(void **state)
{
	struct buf b;
	struct err e;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_add(&b, "12345678", 8), 0);
	assert_int_equal(buf_ok(&b, "thing", &e), 0);
	assert_int_equal(buf_addc(&b, '9'), -1);
	assert_string_equal(b.p, "12345678");
	assert_int_equal(buf_ok(&b, "thing", &e), -1);
	assert_int_equal(e.code, ERR_TOOBIG);
	assert_non_null(strstr(e.text, "thing"));
	assert_non_null(strstr(e.text, "8 bytes"));
	buf_fini(&b);
}

static void over_the_ceiling_nothing_more_is_taken(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	assert_int_equal(buf_adds(&b, "12345"), -1);
	assert_int_equal(buf_adds(&b, "1"), -1);
	assert_int_equal(buf_addf(&b, "%d", 1), -1);
	assert_null(buf_room(&b, 1));
	assert_int_equal(b.n, 0);
	buf_clear(&b);
	assert_int_equal(buf_adds(&b, "1234"), 0);
	buf_fini(&b);
}

static void sizes_that_wrap_are_over_the_ceiling(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	buf_adds(&b, "x");
	assert_null(buf_room(&b, SIZE_MAX));
	buf_clear(&b);
	assert_null(buf_room(&b, SIZE_MAX - 1));
	buf_fini(&b);
}

static void a_long_text_ends_in_an_ellipsis(void **state)
{
	struct buf b = BUF_MAX(100);

	(void)state;
	assert_int_equal(buf_add_fit(&b, "abcdef", 6), 0);
	assert_string_equal(b.p, "abcdef");
	buf_clear(&b);
	assert_int_equal(buf_add_fit(&b, "abcdefg", 6), 0);
	assert_string_equal(b.p, "abc…");
	buf_clear(&b);
	assert_int_equal(buf_add_fit(&b, "abääää", 6), 0); /* not inside ä */
	assert_string_equal(b.p, "ab…");
	buf_clear(&b);
	assert_int_equal(buf_add_fit(&b, "abcdefg", 3), 0);
	assert_string_equal(b.p, "…");
	buf_clear(&b);
	b.max = 5;
	assert_int_equal(buf_add_fit(&b, "abcdefg", 6), -1);
	assert_true(b.over);
	buf_fini(&b);
}

static void taken_text_is_the_callers(void **state)
{
	struct buf b = BUF_MAX(100);
	char *text;

	(void)state;
	text = buf_take(&b);
	assert_string_equal(text, "");
	free(text);
	buf_adds(&b, "mine");
	text = buf_take(&b);
	buf_adds(&b, "other");
	assert_string_equal(text, "mine");
	free(text);
	buf_fini(&b);
}

static void bytes_with_nul_are_kept(void **state)
{
	struct buf b = BUF_MAX(100);
	char *room;

	(void)state;
	buf_add(&b, "a\0b", 3);
	room = buf_room(&b, 10);
	memcpy(room, "\0c", 2);
	buf_grew(&b, 2);
	assert_int_equal(b.n, 5);
	assert_memory_equal(b.p, "a\0b\0c", 6);
	buf_fini(&b);
}

static void arena_memory_is_zero_aligned_and_apart(void **state)
{
	struct arena a = {0};
	char *last = NULL;

	(void)state;
	for (size_t n = 1; n < 6000; n += 37) {
		char *p = arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xee, n);
		assert_ptr_not_equal(p, last);
		last = p;
	}
	assert_non_null(arena_alloc(&a, 0));
	arena_fini(&a);
}

static void a_reset_arena_is_used_again(void **state)
{
	struct arena a = {0};
	const char *first = arena_text(&a, "one"), *again;

	(void)state;
	arena_reset(&a);
	again = arena_text(&a, "two");
	assert_ptr_equal(first, again);
	assert_string_equal(again, "two");
	arena_alloc(&a, 1 << 20);
	arena_reset(&a);
	assert_int_equal(a.used, 0);
	assert_null(a.blocks); /* a large block is not kept for small things */
	arena_fini(&a);
}

static void arena_texts_are_copies(void **state)
{
	struct arena a = {0};
	char from[] = "abcdef";

	(void)state;
	assert_null(arena_text(&a, NULL));
	assert_string_equal(arena_textn(&a, from, 3), "abc");
	assert_string_equal(arena_printf(&a, "%s-%03d", from, 7), "abcdef-007");
	assert_memory_equal(arena_copy(&a, "\0x", 2), "\0x", 2);
	assert_non_null(arena_copy(&a, NULL, 0));
	arena_fini(&a);
}

/* The child must die by abort, not hand out a small block for a large size. */
static void an_arena_size_that_wraps_ends_the_program(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct rlimit none = {0, 0};
		struct arena a = {0};

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		_exit(arena_alloc(&a, SIZE_MAX - 3) ? 1 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_is_text_at_any_time),
		cmocka_unit_test(a_buffer_takes_exactly_its_ceiling),
		cmocka_unit_test(over_the_ceiling_nothing_more_is_taken),
		cmocka_unit_test(sizes_that_wrap_are_over_the_ceiling),
		cmocka_unit_test(a_long_text_ends_in_an_ellipsis),
		cmocka_unit_test(taken_text_is_the_callers),
		cmocka_unit_test(bytes_with_nul_are_kept),
		cmocka_unit_test(arena_memory_is_zero_aligned_and_apart),
		cmocka_unit_test(a_reset_arena_is_used_again),
		cmocka_unit_test(arena_texts_are_copies),
		cmocka_unit_test(an_arena_size_that_wraps_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
