#include "lib/base/clock.h"
#include "lib/db/write_queue.h"
#include "tests/support/temp.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;
static const char *path;

static void open_turn(struct write_queue *t)
{
	struct err e;

	if (write_queue_open(t, path, &e))
		fail_msg("%s", e.text);
}

static void a_turn_is_taken_and_left_at_will(void **state)
{
	struct write_queue t;
	struct err e;

	(void)state;
	open_turn(&t);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(write_queue_enter(&t, path, &e), 0);
		write_queue_leave(&t);
	}
	write_queue_close(&t);
}

static void waiting_ends_with_busy(void **state)
{
	struct write_queue holder, other;
	int64_t before;
	struct err e;

	(void)state;
	open_turn(&holder);
	open_turn(&other);
	other.wait_ms = 150;
	assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	before = clock_mono_ns();
	assert_int_equal(write_queue_enter(&other, path, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_true(clock_mono_ns() - before >= 150 * 1000000);
	write_queue_leave(&holder);
	assert_int_equal(write_queue_enter(&other, path, &e), 0);
	write_queue_close(&other);
	write_queue_close(&holder);
}

static void *interrupt_soon(void *arg)
{
	usleep(50000);
	write_queue_interrupt(arg);
	return NULL;
}

static void an_interrupt_ends_the_wait(void **state)
{
	struct write_queue holder, other;
	pthread_t thread;
	struct err e;

	(void)state;
	open_turn(&holder);
	open_turn(&other);
	assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	pthread_create(&thread, NULL, interrupt_soon, &other);
	assert_int_equal(write_queue_enter(&other, path, &e), -1);
	assert_int_equal(e.code, ERR_CANCELED);
	pthread_join(thread, NULL);
	write_queue_leave(&holder);
	assert_int_equal(write_queue_enter(&other, path, &e), 0);
	write_queue_close(&other);
	write_queue_close(&holder);
}

static void *signal_soon(void *arg)
{
	usleep(30000);
	pthread_kill(*(pthread_t *)arg, SIGURG);
	return NULL;
}

static void a_signal_of_others_does_not_end_the_wait(void **state)
{
	struct write_queue holder, other;
	pthread_t me = pthread_self(), thread;
	struct err e;

	(void)state;
	open_turn(&holder);
	open_turn(&other);
	other.wait_ms = 200;
	assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	pthread_create(&thread, NULL, signal_soon, &me);
	assert_int_equal(write_queue_enter(&other, path, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	pthread_join(thread, NULL);
	write_queue_close(&other);
	write_queue_close(&holder);
}

static void a_process_that_dies_leaves_the_line(void **state)
{
	struct write_queue t;
	struct err e;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		open_turn(&t);
		if (write_queue_enter(&t, path, &e))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	open_turn(&t);
	t.wait_ms = 1000;
	assert_int_equal(write_queue_enter(&t, path, &e), 0);
	write_queue_close(&t);
}

#define WAITERS 4
#define HANG_MS 120000

/* Whether /proc/locks lists the process as one that waits for a flock. */
static bool is_waiting(pid_t pid)
{
	char line[256], wanted[32];
	FILE *locks = fopen("/proc/locks", "re");
	bool found = false;

	assert_non_null(locks);
	snprintf(wanted, sizeof wanted, " WRITE %d ", (int)pid);
	while (!found && fgets(line, sizeof line, locks))
		found = strstr(line, "->") && strstr(line, wanted);
	fclose(locks);
	return found;
}

static void take_one_turn(_Atomic int *turns, _Atomic int *mine)
{
	struct write_queue t;
	struct err e;

	open_turn(&t);
	if (write_queue_enter(&t, path, &e))
		_exit(1);
	*mine = (*turns)++;
	write_queue_close(&t);
	_exit(0);
}

/* How often a writer gets a turn depends on the scheduler as well (skep-bench
 * contention measures it); the order of those who wait does not. */
static void waiting_writers_have_turns_in_their_order(void **state)
{
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	_Atomic int *turns = shared;
	struct write_queue holder;
	const struct timespec pause = {0, 1000000};
	struct err e;

	(void)state;
	open_turn(&holder);
	assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	for (int i = 0; i < WAITERS; i++) {
		pid_t pid = fork();

		if (pid == 0)
			take_one_turn(&turns[0], &turns[1 + i]);
		for (int ms = 0; !is_waiting(pid); ms++) {
			assert_true(ms < HANG_MS);
			nanosleep(&pause, NULL);
		}
	}
	write_queue_close(&holder);
	for (int i = 0; i < WAITERS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(turns[1 + i], i);
	munmap(shared, 4096);
}

#define ROUNDS 50

/* Counts its turns, until it is killed. */
static pid_t take_turns(_Atomic int *turns)
{
	const struct timespec pause = {0, 1000000};
	pid_t pid = fork();
	struct write_queue t;
	struct err e;

	if (pid == 0) {
		open_turn(&t);
		while (write_queue_enter(&t, path, &e) == 0) {
			++*turns;
			write_queue_leave(&t);
		}
		_exit(1);
	}
	for (int ms = 0; !is_waiting(pid); ms++) {
		assert_true(ms < HANG_MS);
		nanosleep(&pause, NULL);
	}
	return pid;
}

static void end_turns(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* The holder comes again at once, before the waiter has woken up. */
static void who_has_just_left_lets_a_waiter_go_first(void **state)
{
	_Atomic int *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct timespec pause = {0, 1000000};
	struct write_queue holder;
	struct err e;
	pid_t pid;

	(void)state;
	open_turn(&holder);
	assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	pid = take_turns(turns);
	for (int i = 0; i < ROUNDS; i++) {
		int before;

		for (int ms = 0; !is_waiting(pid); ms++) {
			assert_true(ms < HANG_MS);
			nanosleep(&pause, NULL);
		}
		before = *turns;
		write_queue_leave(&holder);
		assert_int_equal(write_queue_enter(&holder, path, &e), 0);
		assert_true(*turns > before);
	}
	end_turns(pid);
	write_queue_close(&holder);
	munmap(turns, 4096);
}

static void a_stopped_waiter_delays_others_once(void **state)
{
	_Atomic int turns = 0;
	struct write_queue holder;
	struct err e;
	pid_t pid;

	(void)state;
	open_turn(&holder);
	assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	pid = take_turns(&turns);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	for (int i = 0; i < 1000; i++) { /* 200 s, if each one waited */
		write_queue_leave(&holder);
		assert_int_equal(write_queue_enter(&holder, path, &e), 0);
	}
	assert_int_not_equal(holder.stalled, 0);
	end_turns(pid);
	write_queue_close(&holder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_is_taken_and_left_at_will),
		cmocka_unit_test(waiting_ends_with_busy),
		cmocka_unit_test(an_interrupt_ends_the_wait),
		cmocka_unit_test(a_signal_of_others_does_not_end_the_wait),
		cmocka_unit_test(a_process_that_dies_leaves_the_line),
		cmocka_unit_test(waiting_writers_have_turns_in_their_order),
		cmocka_unit_test(who_has_just_left_lets_a_waiter_go_first),
		cmocka_unit_test(a_stopped_waiter_delays_others_once),
	};
	char file[4096];
	int bad;

	temp_make(&dir);
	snprintf(file, sizeof file, "%s", temp_join(&dir, "x.sqlite"));
	path = file;
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
