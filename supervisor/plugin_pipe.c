/* Lines to and from a plugin: bounded both ways, and never waited for. */
#include "supervisor/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_LINES 2000
#define READ_BYTES 65536
#define OUTBOX_MAX (64u << 20)

static void free_poll(uv_handle_t *h)
{
	free(h);
}

static void close_end(uv_poll_t **poll, int *fd)
{
	if (*poll) {
		uv_poll_stop(*poll);
		uv_close((uv_handle_t *)*poll, free_poll);
		*poll = NULL;
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void on_writable(uv_poll_t *h, int status, int events)
{
	(void)status;
	(void)events;
	plugin_flush(h->data);
}

void plugin_flush(struct plugin *p)
{
	while (p->in >= 0 && p->outbox.n) {
		ssize_t n = write(p->in, p->outbox.p, p->outbox.n);

		if (n > 0)
			buf_drop(&p->outbox, (size_t)n);
		else if (errno != EINTR)
			break;
	}
	if (!p->in_poll)
		return;
	if (p->outbox.n)
		uv_poll_start(p->in_poll, UV_WRITABLE, on_writable);
	else
		uv_poll_stop(p->in_poll);
}

/* Whole lines only; false when the plugin ended over one of them. */
static bool take_lines(struct plugin *p)
{
	int64_t serial = p->serial;
	size_t from = 0;
	char *end;

	while ((end = memchr(p->inbox.p + from, '\n', p->inbox.n - from))) {
		size_t n = (size_t)(end - p->inbox.p) - from;

		p->heard_ms = plugin_now(p);
		p->pinged = false;
		p->lines++;
		plugin_line(p, p->inbox.p + from, n);
		if (p->out < 0 || p->serial != serial)
			return false;
		from += n + 1;
	}
	buf_drop(&p->inbox, from);
	return true;
}

static void on_readable(uv_poll_t *h, int status, int events)
{
	struct plugin *p = h->data;
	char *room = buf_room(&p->inbox, READ_BYTES);
	ssize_t n;

	(void)status;
	(void)events;
	if (!room) {
		plugin_fail(p, "a line is longer than %u bytes",
			    PLUGIN_LINE_MAX);
		return;
	}
	n = read(p->out, room, READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		plugin_fail(p, "it closed its output");
		return;
	}
	buf_grew(&p->inbox, (size_t)n);
	if (take_lines(p) && p->lines > TICK_LINES) {
		p->quiet = true;
		uv_poll_stop(p->out_poll);
	}
}

static uv_poll_t *poll_new(struct plugin *p, int fd)
{
	uv_poll_t *poll = calloc(1, sizeof *poll);

	if (!poll)
		abort();
	uv_poll_init(&p->channel->sup->loop, poll, fd);
	poll->data = p;
	return poll;
}

void plugin_pipe_init(struct plugin *p)
{
	p->in = p->out = -1;
	buf_init(&p->inbox, PLUGIN_LINE_MAX);
	buf_init(&p->outbox, OUTBOX_MAX);
}

void plugin_pipe_fini(struct plugin *p)
{
	plugin_pipe_close(p);
	buf_fini(&p->inbox);
	buf_fini(&p->outbox);
}

void plugin_pipe_open(struct plugin *p, int in, int out)
{
	p->in = in;
	p->out = out;
	fcntl(in, F_SETFL, O_NONBLOCK);
	fcntl(out, F_SETFL, O_NONBLOCK);
	p->bad_lines = p->lines = 0;
	p->quiet = p->pinged = false;
	p->heard_ms = plugin_now(p);
	buf_clear(&p->inbox);
	buf_clear(&p->outbox);
	p->in_poll = poll_new(p, in);
	p->out_poll = poll_new(p, out);
	uv_poll_start(p->out_poll, UV_READABLE, on_readable);
}

void plugin_pipe_close(struct plugin *p)
{
	close_end(&p->in_poll, &p->in);
	close_end(&p->out_poll, &p->out);
}

void plugin_pipe_tick(struct plugin *p)
{
	p->lines = 0;
	if (p->quiet && p->out_poll) {
		p->quiet = false;
		uv_poll_start(p->out_poll, UV_READABLE, on_readable);
	}
}
