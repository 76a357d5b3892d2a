#include "lib/os/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void we_are_alive_under_our_own_mark(void **state)
{
	struct process_identity self = process_self();

	(void)state;
	assert_int_equal(self.pid, getpid());
	assert_true(self.start_ticks > 0);
	assert_true(strlen(self.boot_id) > 30);
	assert_true(process_is_alive(&self));
}

static void a_pid_that_was_used_again_is_another_process(void **state)
{
	struct process_identity m = process_self();

	(void)state;
	m.start_ticks--;
	assert_false(process_is_alive(&m));
	m = process_self();
	m.boot_id[0] = m.boot_id[0] == 'a' ? 'b' : 'a';
	assert_false(process_is_alive(&m));
}

static void a_zombie_is_dead_and_so_is_nobody(void **state)
{
	struct process_identity m;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(process_identity(pid, &m));
	assert_true(process_is_alive(&m));
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_false(process_is_alive(&m));
	waitpid(pid, NULL, 0);
	assert_false(process_is_alive(&m));
	assert_false(process_identity(pid, &m));
	assert_false(process_identity(0, &m));
	assert_false(process_identity(-1, &m));
}

static void a_name_with_brackets_and_blanks_does_not_confuse(void **state)
{
	struct process_identity m = process_self();

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, ") R 1 2 3 ("), 0);
	assert_true(process_is_alive(&m));
	assert_int_equal(process_self().start_ticks, m.start_ticks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(we_are_alive_under_our_own_mark),
		cmocka_unit_test(a_pid_that_was_used_again_is_another_process),
		cmocka_unit_test(a_zombie_is_dead_and_so_is_nobody),
		cmocka_unit_test(
			a_name_with_brackets_and_blanks_does_not_confuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
