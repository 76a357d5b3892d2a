/* A signal goes to the thread that waits for it, whatever other threads there
 * are. */
#include "lib/os/thread.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void *copy_mask(void *arg)
{
	(void)pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

static void only_faults_are_not_blocked(void **state)
{
	static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
	static const int others[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGALRM};
	sigset_t before, there, after;
	pthread_t t;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(thread_start(&t, 65536, copy_mask, &there), 0);
	pthread_join(t, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		assert_int_equal(sigismember(&there, faults[i]), 0);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		assert_int_equal(sigismember(&there, others[i]), 1);
		assert_int_equal(sigismember(&after, others[i]),
				 sigismember(&before, others[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_faults_are_not_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
