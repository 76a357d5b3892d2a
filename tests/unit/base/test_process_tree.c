/* Ending processes; these tests fork, since that is what it is about. */
#include "lib/base/clock.h"
#include "lib/os/process_tree.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NONE (-1)

static int group_set_up(void **state)
{
	struct err e;
	sigset_t child;

	(void)state;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	return tree_own(&e);
}

/* A child that tells through the pipe when it is ready, then sleeps. */
static pid_t child(void (*prepare)(int ready))
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		prepare(fds[1]);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

static void report_ready(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static void ignore_all(int fd)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	report_ready(fd);
}

/* Forks twice, in a session of its own; the one in between dies. */
static void hide(int fd)
{
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
	ignore_all(fd);
}

static void breed(int fd)
{
	report_ready(fd);
	for (int i = 0; i < 6; i++)
		(void)!fork(); /* 64 of them */
}

static int ends_in_ms(int64_t grace, pid_t watched, int *status)
{
	int64_t began = clock_mono_ns();
	struct err e = {0};

	if (tree_end(grace, watched, status, &e))
		fail_msg("%s", e.text);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return (int)((clock_mono_ns() - began) / 1000000);
}

static void no_children_are_gone_at_once(void **state)
{
	int status = NONE;

	(void)state;
	assert_in_range(ends_in_ms(60000, 0, &status), 0, 59000);
	assert_int_equal(status, NONE);
}

static void a_polite_child_ends_by_sigterm(void **state)
{
	int status = NONE;
	pid_t pid = child(report_ready);

	(void)state;
	assert_in_range(ends_in_ms(60000, pid, &status), 0, 59000);
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void a_stopped_child_ends_too(void **state)
{
	int status = NONE;
	pid_t pid = child(report_ready);

	(void)state;
	assert_int_equal(tree_signal(SIGSTOP), 1);
	assert_in_range(ends_in_ms(60000, pid, &status), 0, 59000);
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void a_stubborn_child_is_killed_after_the_grace_time(void **state)
{
	int status = NONE;
	pid_t pid = child(ignore_all);

	(void)state;
	assert_in_range(ends_in_ms(100, pid, &status), 100, 60000);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void one_that_hides_behind_dead_parents_is_found(void **state)
{
	int status = NONE;

	(void)state;
	(void)child(hide);
	assert_true(tree_signal(0) >= 1);
	assert_in_range(ends_in_ms(50, 0, &status), 50, 60000);
}

static void many_that_fork_meanwhile_are_all_ended(void **state)
{
	int status = NONE;

	(void)state;
	(void)child(breed);
	(void)ends_in_ms(0, 0, &status);
}

static void one_that_is_spared_outlives_the_others(void **state)
{
	int status = NONE;
	pid_t server = child(report_ready), other = child(report_ready);
	struct err e = {0};

	(void)state;
	tree_exempt(server);
	assert_int_equal(tree_signal(0), 1);
	assert_int_equal(tree_end(1000, other, &status, &e), 0);
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(kill(server, 0), 0);
	tree_unexempt(server);
	assert_in_range(ends_in_ms(60000, server, &status), 0, 59000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_children_are_gone_at_once),
		cmocka_unit_test(a_polite_child_ends_by_sigterm),
		cmocka_unit_test(a_stopped_child_ends_too),
		cmocka_unit_test(
			a_stubborn_child_is_killed_after_the_grace_time),
		cmocka_unit_test(one_that_hides_behind_dead_parents_is_found),
		cmocka_unit_test(many_that_fork_meanwhile_are_all_ended),
		cmocka_unit_test(one_that_is_spared_outlives_the_others),
	};

	return cmocka_run_group_tests(tests, group_set_up, NULL);
}
