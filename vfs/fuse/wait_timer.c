#include "vfs/fuse/wait_timer.h"

#include "vfs/core/nanos.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct wait_timer {
	timer_t timer;
	struct sigaction before;
};

static void ring(int sig)
{
	(void)sig;
}

struct wait_timer *wait_timer_start(void)
{
	struct sigaction sa = {.sa_handler = ring}; /* no SA_RESTART */
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = SIGALRM};
	struct wait_timer *a = calloc(1, sizeof *a);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* it may be blocked */
	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (!a || sigaction(SIGALRM, &sa, &a->before) ||
	    timer_create(CLOCK_MONOTONIC, &ev, &a->timer))
		abort();
	return a;
}

void wait_timer_stop(struct wait_timer *a)
{
	timer_delete(a->timer);
	sigaction(SIGALRM, &a->before, NULL);
	free(a);
}

void wait_timer_set(struct wait_timer *a, int64_t ns)
{
	struct itimerspec when = {.it_value = nanos_spec(ns)};

	if (ns)
		when.it_interval.tv_nsec = 1000000;
	if (timer_settime(a->timer, 0, &when, NULL))
		abort();
}
