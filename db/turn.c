#include "db/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* SIGURG is ignored by default and used by nobody here; with a handler that
 * does nothing it ends a blocking flock. */
#define WAKE_SIGNAL SIGURG

static void wake(int sig)
{
	(void)sig;
}

static void install_handler(void)
{
	struct sigaction sa = {.sa_handler = wake};

	sigaction(WAKE_SIGNAL, &sa, NULL);
}

int turn_open(struct turn *t, const char *path, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char copy[PATH_MAX];

	t->fd = -1;
	atomic_init(&t->waiting, false);
	snprintf(copy, sizeof copy, "%s", path);
	t->fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0)
		return err_errno_set(e, "%s", path);
	pthread_once(&once, install_handler);
	return 0;
}

void turn_close(struct turn *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* A timer that pokes this thread every so often from the time-out on, so that
 * a poke which comes just before the flock does no harm. */
static int start_timer(timer_t *timer)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = WAKE_SIGNAL};
	struct itimerspec when = {
		.it_value = {TURN_WAIT_MS / 1000, 0},
		.it_interval = {0, 100000000},
	};

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, timer))
		return -1;
	return timer_settime(*timer, 0, &when, NULL);
}

static int wait_in_line(struct turn *t, const char *path, struct err *e)
{
	timer_t timer;
	int rc, why;

	if (start_timer(&timer))
		return err_errno_set(e, "%s: timer", path);
	t->waiter = pthread_self();
	atomic_store(&t->waiting, true);
	rc = flock(t->fd, LOCK_EX);
	why = errno;
	atomic_store(&t->waiting, false);
	struct itimerspec left = {0};
	timer_gettime(timer, &left);
	timer_delete(timer);
	if (rc == 0)
		return 0;
	errno = why;
	if (why != EINTR)
		return err_errno_set(e, "%s: waiting to write", path);
	if (left.it_value.tv_sec > 0)
		return err_set(e, ERR_CANCELED,
			       "%s: waiting to write was "
			       "interrupted",
			       path);
	return err_set(e, ERR_BUSY,
		       "%s: another process has been writing for "
		       "%d s",
		       path, TURN_WAIT_MS / 1000);
}

int turn_take(struct turn *t, const char *path, struct err *e)
{
	if (t->fd < 0 || flock(t->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_errno_set(e, "%s: waiting to write", path);
	return wait_in_line(t, path, e);
}

void turn_leave(struct turn *t)
{
	if (t->fd >= 0)
		flock(t->fd, LOCK_UN);
}

void turn_interrupt(struct turn *t)
{
	if (atomic_load(&t->waiting))
		pthread_kill(t->waiter, WAKE_SIGNAL);
}
