#include "tests/support/clock.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void ids_of_one_process_are_in_order(void **state)
{
	struct id last = id_new(ID_RUN);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct id next = id_new(ID_RUN);

		assert_true(strcmp(last.text, next.text) < 0);
		last = next;
	}
}

static void ids_of_one_moment_are_in_order(void **state)
{
	struct id last;

	(void)state;
	test_clock_set(1700000000000);
	last = id_new(ID_MESSAGE);
	for (int i = 0; i < 1000; i++) {
		struct id next = id_new(ID_MESSAGE);

		assert_true(strcmp(last.text, next.text) < 0);
		last = next;
	}
	test_clock_set(-1);
}

static void a_clock_that_jumps_back_keeps_the_order(void **state)
{
	struct id before, after;

	(void)state;
	test_clock_set(4000000000000);
	before = id_new(ID_RUN);
	test_clock_set(1000);
	after = id_new(ID_RUN);
	test_clock_set(-1);
	assert_true(strcmp(before.text, after.text) < 0);
}

#define EACH 5000

static void *make_many(void *arg)
{
	struct id *out = arg;

	for (int i = 0; i < EACH; i++)
		out[i] = id_new(ID_SESSION);
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(((const struct id *)a)->text,
		      ((const struct id *)b)->text);
}

static void threads_never_make_the_same_id(void **state)
{
	static struct id ids[4 * EACH];
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, make_many, ids + i * EACH);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < 4 * EACH; i++)
		if (i % EACH)
			assert_true(compare_ids(&ids[i - 1], &ids[i]) < 0);
	qsort(ids, (size_t)4 * EACH, sizeof ids[0], compare_ids);
	for (int i = 1; i < 4 * EACH; i++)
		assert_true(compare_ids(&ids[i - 1], &ids[i]) < 0);
}

/* The last twelve characters are by chance, in a copy of a process as well. */
static void a_forked_process_has_noise_of_its_own(void **state)
{
	struct id first = id_new(ID_RUN), mine, other;
	int back[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(back), 0);
	pid = fork();
	if (pid == 0) {
		other = id_new(ID_RUN);
		_exit(write(back[1], &other, sizeof other) != sizeof other);
	}
	mine = id_new(ID_RUN);
	assert_int_equal(read(back[0], &other, sizeof other), sizeof other);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_string_not_equal(mine.text + 18, other.text + 18);
	assert_string_not_equal(mine.text + 18, first.text + 18);
	close(back[0]);
	close(back[1]);
}

/* The processes hand the turn to and fro: each id is made after the last. */
static void processes_in_turn_make_ids_in_order(void **state)
{
	int there[2], back[2];
	struct id last = {""}, next;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	pid = fork();
	if (pid == 0) {
		close(there[1]);
		while (read(there[0], &next, sizeof next) == sizeof next) {
			next = id_new(ID_RUN);
			if (write(back[1], &next, sizeof next) != sizeof next)
				break;
		}
		_exit(0);
	}
	for (int i = 0; i < 500; i++) {
		next = id_new(ID_RUN);
		assert_true(strcmp(last.text, next.text) < 0);
		last = next;
		assert_int_equal(write(there[1], &next, sizeof next),
				 sizeof next);
		assert_int_equal(read(back[0], &next, sizeof next),
				 sizeof next);
		assert_true(strcmp(last.text, next.text) < 0);
		last = next;
	}
	close(there[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void an_id_tells_its_kind_and_its_moment(void **state)
{
	struct id id;

	(void)state;
	test_clock_set(5000000000123);
	id = id_new(ID_APPROVAL);
	test_clock_set(-1);
	assert_int_equal(strlen(id.text), ID_SIZE - 1);
	assert_true(id_is(ID_APPROVAL, id.text));
	assert_false(id_is(ID_RUN, id.text));
	assert_int_equal(id_time(id.text), 5000000000123);
	assert_int_equal(id_time(id_at(ID_RUN, 5000000000123).text),
			 5000000000123);
	assert_true(strcmp(id_at(ID_APPROVAL, 5000000000123).text, id.text) <
		    0);
}

static void what_is_no_id_is_not_taken_for_one(void **state)
{
	static const char *const bad[] = {
		"",
		"run",
		"run_",
		"run_0123456789abcdefghjkmnpqr",   /* short */
		"run_0123456789abcdefghjkmnpqrst", /* long */
		"run_0123456789abcdefghjkmnpqrI",  /* not in the alphabet */
		"run_0123456789ABCDEFGHJKMNPQRS",
		"run-0123456789abcdefghjkmnpqrs",
		"../_0123456789abcdefghjkmnpqrs",
		"run_0123456789abcdefghjkmnpq\n ",
	};

	(void)state;
	assert_true(id_is(ID_RUN, "run_0123456789abcdefghjkmnpqrs"));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(id_is(ID_RUN, bad[i]));
	assert_int_equal(id_time("run_"), -1);
}

static void every_kind_has_a_prefix_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < ID_KINDS; i++) {
		assert_int_equal(strlen(id_prefix((enum id_kind)i)), 3);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(id_prefix((enum id_kind)i),
						id_prefix((enum id_kind)k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_of_one_process_are_in_order),
		cmocka_unit_test(ids_of_one_moment_are_in_order),
		cmocka_unit_test(processes_in_turn_make_ids_in_order),
		cmocka_unit_test(a_forked_process_has_noise_of_its_own),
		cmocka_unit_test(threads_never_make_the_same_id),
		cmocka_unit_test(an_id_tells_its_kind_and_its_moment),
		cmocka_unit_test(what_is_no_id_is_not_taken_for_one),
		cmocka_unit_test(every_kind_has_a_prefix_of_its_own),
		cmocka_unit_test(a_clock_that_jumps_back_keeps_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
