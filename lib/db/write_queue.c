#include "lib/db/write_queue.h"

#include "lib/base/clock.h"

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

/* SIGURG is ignored by default and not used here; with an empty handler it ends
 * a blocking flock. */
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

int write_queue_open(struct write_queue *t, const char *path, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char copy[PATH_MAX];

	t->fd = -1;
	t->wait_ms = WRITE_QUEUE_WAIT_MS;
	t->place = t->stalled = 0;
	atomic_init(&t->waiting, false);
	atomic_init(&t->stop, false);
	snprintf(copy, sizeof copy, "%s", path);
	t->fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0)
		return err_errno_set(e, "%s", path);
	pthread_once(&once, install_handler);
	return 0;
}

void write_queue_close(struct write_queue *t)
{
	write_queue_leave(t); /* a child may have inherited the descriptor */
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* A timer that signals this thread repeatedly from the time-out on, so that a
 * signal which arrives just before the flock does no harm. */
static int start_timer(const struct write_queue *t, timer_t *timer)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = WAKE_SIGNAL};
	struct itimerspec when = {
		.it_value = {t->wait_ms / 1000, t->wait_ms % 1000 * 1000000},
		.it_interval = {0, 100000000},
	};

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, timer))
		return -1;
	if (timer_settime(*timer, 0, &when, NULL)) {
		timer_delete(*timer);
		return -1;
	}
	return 0;
}

/* --- waiters that are visible ---------------------------------------------- */

#define TURN_NS  INT64_C(200000000) /* for a waiter that has been woken */
#define PAUSE_NS 50000
#define ALL      0 /* length of a lock without an end */

/* The byte of a waiter in [from, from + length), or 0. */
static int64_t find_waiter(const struct write_queue *t, int64_t from,
			   int64_t length)
{
	struct flock l = {.l_type = F_WRLCK,
			  .l_whence = SEEK_SET,
			  .l_start = from,
			  .l_len = length};

	return fcntl(t->fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK
		       ? l.l_start
		       : 0;
}

/* Of those that came before us. */
static int64_t oldest_waiter(const struct write_queue *t)
{
	int64_t at = find_waiter(t, 1, t->place - 1), older;

	while (at > 1 && (older = find_waiter(t, 1, at - 1)))
		at = older;
	return at;
}

/* A lock that cannot be had costs fairness only. */
static void set_place(struct write_queue *t, short type)
{
	struct flock l = {.l_type = type,
			  .l_whence = SEEK_SET,
			  .l_start = t->place,
			  .l_len = 1};

	(void)fcntl(t->fd, F_OFD_SETLK, &l);
}

/* Until the waiter has taken its turn. */
static void let_go_first(struct write_queue *t, int64_t waiter, int64_t end_ns)
{
	const struct timespec pause = {0, PAUSE_NS};
	int64_t until = clock_mono_ns() + TURN_NS;

	while (find_waiter(t, waiter, 1)) {
		int64_t now = clock_mono_ns();

		if (atomic_load(&t->stop) || now >= end_ns)
			return;
		if (now >= until) {
			t->stalled = waiter;
			return;
		}
		nanosleep(&pause, NULL);
	}
}

static bool must_wait(const struct write_queue *t)
{
	int64_t waiter = find_waiter(t, 1, ALL);

	return waiter && waiter != t->stalled;
}

/* Waits again after unrelated signals (which lose the place in the queue); 0,
 * or -1 with errno EINTR: cancelled, ETIMEDOUT: too long, or another. */
static int wait_until(struct write_queue *t, int64_t end_ns)
{
	while (flock(t->fd, LOCK_EX)) {
		if (errno != EINTR)
			return -1;
		if (atomic_load(&t->stop))
			return -1;
		if (clock_mono_ns() >= end_ns) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
	return 0;
}

static int wait_for_turn(struct write_queue *t, int64_t end_ns)
{
	int64_t waiter;
	int rc, reason;

	t->place = clock_mono_ns();
	set_place(t, F_RDLCK);
	waiter = oldest_waiter(t);
	if (waiter && waiter != t->stalled)
		let_go_first(t, waiter, end_ns);
	rc = wait_until(t, end_ns);
	reason = errno;
	set_place(t, F_UNLCK);
	errno = reason;
	return rc;
}

static int wait_in_line(struct write_queue *t, const char *path, struct err *e)
{
	int64_t end = clock_mono_ns() + (int64_t)t->wait_ms * 1000000;
	timer_t timer;
	int rc, reason;

	if (start_timer(t, &timer))
		return err_errno_set(e, "%s: timer", path);
	t->waiter = pthread_self();
	atomic_store(&t->waiting, true);
	rc = wait_for_turn(t, end);
	reason = errno;
	atomic_store(&t->waiting, false);
	timer_delete(timer);
	if (rc == 0)
		return 0;
	if (reason == EINTR)
		return err_set(e, ERR_CANCELED,
			       "%s: interrupted while waiting for the write "
			       "lock",
			       path);
	if (reason == ETIMEDOUT)
		return err_set(e, ERR_BUSY,
			       "%s: another process has held the write lock "
			       "for %d s",
			       path, t->wait_ms / 1000);
	errno = reason;
	return err_errno_set(e, "%s: waiting for the write lock", path);
}

bool write_queue_try(struct write_queue *t)
{
	atomic_store(&t->stop, false);
	return t->fd < 0 || flock(t->fd, LOCK_EX | LOCK_NB) == 0;
}

int write_queue_enter(struct write_queue *t, const char *path, struct err *e)
{
	atomic_store(&t->stop, false);
	errno = EWOULDBLOCK;
	if (t->fd < 0 || (!must_wait(t) && write_queue_try(t)))
		return 0;
	if (errno != EWOULDBLOCK)
		return err_errno_set(e, "%s: waiting for the write lock", path);
	return wait_in_line(t, path, e);
}

void write_queue_leave(struct write_queue *t)
{
	if (t->fd >= 0)
		flock(t->fd, LOCK_UN);
}

bool write_queue_stopped(const struct write_queue *t)
{
	return atomic_load(&t->stop);
}

/* A signal that arrives before the waiter sleeps is lost, so it is sent
 * repeatedly until the waiter has seen it. */
void write_queue_interrupt(struct write_queue *t)
{
	const struct timespec pause = {0, 1000000};

	atomic_store(&t->stop, true);
	for (int i = 0; i < 100 && atomic_load(&t->waiting); i++) {
		pthread_kill(t->waiter, WAKE_SIGNAL);
		nanosleep(&pause, NULL);
	}
}
