#include "supervisor/channel/plugin/log.h"

#include "lib/base/clock.h"
#include "lib/os/file.h"
#include "supervisor/channel/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES   65536
#define WINDOW_MS    250
#define WINDOW_BYTES (PLUGIN_LOG_RATE * WINDOW_MS / 1000)

struct plugin_log {
	struct plugin_log *next;
	struct supervisor *sup;
	uv_poll_t poll;
	uv_timer_t timer; /* runs while the pipe is not read */
	int fd;
	int handles;       /* that are not closed yet */
	size_t read_bytes; /* bytes read in this window */
	int64_t since;     /* uv_now of the start of the window */
	bool discard;      /* further output is dropped */
	struct home_path path;
};

/* --- the file --------------------------------------------------------- */

struct home_path plugin_log_path(const struct supervisor *s, const char *name)
{
	char file[128];

	snprintf(file, sizeof file, "channel-%s.log", name);
	return home_join(&s->home, HOME_LOGS, file);
}

/* Errors are ignored: a plugin runs without its log. */
static void append_to_log(const char *path, const char *text, size_t n)
{
	char former[sizeof(struct home_path) + 8];
	struct err ignored;
	int fd;

	if (file_size(path) + (int64_t)n > PLUGIN_LOG_MAX) {
		snprintf(former, sizeof former, "%s.1", path);
		rename(path, former);
	}
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	(void)file_write_fd(fd, path, text, n, &ignored);
	close(fd);
}

static bool ends_within_a_line(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char last = '\n';

	if (fd < 0)
		return false;
	if (lseek(fd, -1, SEEK_END) >= 0)
		(void)!read(fd, &last, 1);
	close(fd);
	return last != '\n';
}

void plugin_log_note(struct supervisor *s, const char *name, const char *fmt,
		     ...)
{
	struct home_path path = plugin_log_path(s, name);
	struct buf b = BUF_MAX(1024);
	char when[CLOCK_TEXT];
	va_list ap;

	if (ends_within_a_line(path.text))
		buf_addc(&b, '\n');
	buf_addf(&b, "-- skepd %s: ", clock_text(clock_now(), when));
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	buf_addc(&b, '\n');
	append_to_log(path.text, b.p, b.n);
	buf_fini(&b);
}

/* --- the pipe --------------------------------------------------------- */

static void on_closed(uv_handle_t *h)
{
	struct plugin_log *l = h->data;

	if (--l->handles == 0)
		free(l);
}

static void log_close(struct plugin_log *l)
{
	struct plugin_log **at = &l->sup->channels->logs;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	uv_close((uv_handle_t *)&l->poll, on_closed);
	uv_close((uv_handle_t *)&l->timer, on_closed);
	close(l->fd);
}

/* Reads one block; false if there is none now, or the pipe was closed
 * (*ended). */
static bool read_some(struct plugin_log *l, bool *ended)
{
	static char text[READ_BYTES];
	ssize_t n = read(l->fd, text, sizeof text);

	*ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n <= 0)
		return false;
	if (!l->discard)
		append_to_log(l->path.text, text, (size_t)n);
	l->read_bytes += (size_t)n;
	return true;
}

static void on_readable(uv_poll_t *h, int status, int events);

static void on_window(uv_timer_t *t)
{
	struct plugin_log *l = t->data;

	uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static void on_readable(uv_poll_t *h, int status, int events)
{
	struct plugin_log *l = h->data;
	int64_t now = (int64_t)uv_now(h->loop);
	bool ended;

	(void)status;
	(void)events;
	if (now - l->since >= WINDOW_MS) {
		l->since = now;
		l->read_bytes = 0;
	}
	(void)read_some(l, &ended);
	if (ended) {
		log_close(l);
	} else if (l->read_bytes > WINDOW_BYTES) {
		uv_poll_stop(h);
		uv_timer_start(&l->timer, on_window, WINDOW_MS, 0);
	}
}

int plugin_log_open(struct supervisor *s, const char *name, struct err *e)
{
	struct plugin_log *l;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return err_errno_set(
			e, "cannot create a pipe for the log of a plugin");
	l = calloc(1, sizeof *l);
	if (!l)
		abort();
	l->sup = s;
	l->path = plugin_log_path(s, name);
	l->fd = fds[0];
	l->handles = 2;
	l->next = s->channels->logs;
	s->channels->logs = l;
	fcntl(l->fd, F_SETFL, O_NONBLOCK);
	uv_poll_init(&s->loop, &l->poll, l->fd);
	uv_timer_init(&s->loop, &l->timer);
	l->poll.data = l->timer.data = l;
	uv_poll_start(&l->poll, UV_READABLE, on_readable);
	return fds[1];
}

void plugin_log_delete(struct supervisor *s, const char *name)
{
	struct home_path path = plugin_log_path(s, name);
	char former[sizeof path + 8];

	for (struct plugin_log *l = s->channels->logs; l; l = l->next)
		l->discard |= !strcmp(l->path.text, path.text);
	snprintf(former, sizeof former, "%s.1", path.text);
	unlink(path.text);
	unlink(former);
}

void plugin_logs_read(struct supervisor *s)
{
	bool ended;

	for (struct plugin_log *l = s->channels->logs; l; l = l->next)
		(void)read_some(l, &ended);
}

void plugin_logs_close(struct supervisor *s)
{
	while (s->channels->logs) {
		struct plugin_log *l = s->channels->logs;
		bool ended;

		for (l->read_bytes = 0;
		     l->read_bytes < WINDOW_BYTES && read_some(l, &ended);)
			;
		log_close(l);
	}
}
