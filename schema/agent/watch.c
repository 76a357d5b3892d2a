#include "schema/agent/watch.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static const int echoes_ms[] = {2, 20, 200};

#define ECHOES ((int)(sizeof echoes_ms / sizeof echoes_ms[0]))

/* The directory is watched, not the -wal file, which is deleted and created
 * again. */
int follow_open(struct follow *f, const char *path, struct err *e)
{
	char dir[PATH_MAX], base[PATH_MAX];

	snprintf(dir, sizeof dir, "%s", path);
	snprintf(base, sizeof base, "%s", path);
	snprintf(f->name, sizeof f->name, "%.255s", basename(base));
	f->echo = ECHOES; /* no echoes are pending */
	f->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->fd < 0)
		return err_errno_set(e, "inotify");
	if (inotify_add_watch(f->fd, dirname(dir),
			      IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
		err_errno_set(e, "%s", path);
		follow_close(f);
		return -1;
	}
	return 0;
}

void follow_close(struct follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* Commits write to FILE and FILE-wal; FILE-shm has only locks and the index. */
static bool is_ours(const struct follow *f, const char *name)
{
	size_t n = strlen(f->name);

	return !strncmp(name, f->name, n) &&
	       (!name[n] || !strcmp(name + n, "-wal"));
}

bool follow_drain(struct follow *f)
{
	alignas(struct inotify_event) char raw[4096];
	bool ours = false;
	ssize_t n;

	while ((n = read(f->fd, raw, sizeof raw)) > 0) {
		for (char *p = raw; p < raw + n;) {
			struct inotify_event *ev = (void *)p;

			ours = ours || ev->mask & IN_Q_OVERFLOW ||
			       (ev->len > 0 && is_ours(f, ev->name));
			p += sizeof *ev + ev->len;
		}
	}
	return ours;
}

int follow_wait(struct follow *f, int timeout_ms, struct err *e)
{
	int64_t end = clock_mono_ns() + timeout_ms * INT64_C(1000000);

	for (;;) {
		struct pollfd p = {.fd = f->fd, .events = POLLIN};
		int64_t left = (end - clock_mono_ns()) / 1000000;
		int wait = timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0;
		bool echo = f->echo < ECHOES &&
			    (wait < 0 || wait > echoes_ms[f->echo]);
		int n = poll(&p, 1, echo ? echoes_ms[f->echo] : wait);

		if (n < 0 && errno != EINTR)
			return err_errno_set(e, "poll");
		if (n < 0)
			return 0; /* a signal: the caller decides */
		if (n > 0 && follow_drain(f)) {
			f->echo = 0;
			return 1;
		}
		if (n == 0 && echo)
			f->echo++;
		if (n == 0)
			return echo;
	}
}
