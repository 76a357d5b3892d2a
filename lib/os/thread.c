#include "lib/os/thread.h"

#include <signal.h>

static void all_but_faults(sigset_t *set)
{
	sigfillset(set);
	sigdelset(set, SIGBUS); /* lib/db/sql_map.c handles it */
	sigdelset(set, SIGSEGV);
	sigdelset(set, SIGFPE);
	sigdelset(set, SIGILL);
}

int thread_start(pthread_t *thread, size_t stack, void *(*fn)(void *),
		 void *arg)
{
	pthread_attr_t attr;
	sigset_t blocked, before;
	int rc;

	all_but_faults(&blocked);
	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	rc = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}
