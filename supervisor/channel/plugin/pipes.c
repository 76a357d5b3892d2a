/* Lines to and from a plugin, with limits in both directions and without
 * blocking. */
#include "supervisor/channel/plugin/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_LINES 2000
#define TICK_BYTES (8u << 20)
#define READ_BYTES 65536
/* larger buffers are freed when they are empty */
#define KEEP_BYTES  (1u << 20)
#define OUTBOX_MAX  (64u << 20)
#define OUTBOX_ROOM (1u << 20) /* above this, no delivery is claimed */

static void free_poll(uv_handle_t *h)
{
	free(h);
}

void plugin_poll_close(uv_poll_t **poll, int *fd)
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

static void trim_buffer(struct buf *b)
{
	if (b->n == 0 && b->cap > KEEP_BYTES)
		buf_fini(b);
}

/* --- writing ---------------------------------------------------------- */

static void on_writable(uv_poll_t *h, int status, int events)
{
	(void)status;
	(void)events;
	(void)plugin_flush(h->data);
}

static int write_some(struct plugin *p)
{
	while (p->written < p->outbox.n) {
		ssize_t n = write(p->in, p->outbox.p + p->written,
				  p->outbox.n - p->written);

		if (n > 0)
			p->written += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			return -1;
	}
	/* Moved only if at least half of the buffer becomes free. */
	if (p->written >= p->outbox.n / 2) {
		buf_drop(&p->outbox, p->written);
		p->written = 0;
		trim_buffer(&p->outbox);
	}
	return 0;
}

bool plugin_flush(struct plugin *p)
{
	if (p->in < 0)
		return false;
	if (write_some(p)) {
		plugin_fail(p, "it closed its input");
		return false;
	}
	if (p->outbox.n)
		uv_poll_start(p->in_poll, UV_WRITABLE, on_writable);
	else
		uv_poll_stop(p->in_poll);
	return true;
}

bool plugin_has_room(const struct plugin *p)
{
	return p->outbox.n - p->written < OUTBOX_ROOM;
}

bool plugin_can_buffer(const struct plugin *p, size_t n)
{
	return n < OUTBOX_MAX - OUTBOX_ROOM &&
	       p->outbox.n < OUTBOX_MAX - OUTBOX_ROOM - n;
}

/* --- reading ---------------------------------------------------------- */

/* Handles complete lines; false if one of them ended the plugin. */
static bool process_lines(struct plugin *p)
{
	int64_t serial = p->serial;
	size_t from = 0, look = p->scanned;
	char *end;

	while ((end = memchr(p->inbox.p + look, '\n', p->inbox.n - look))) {
		size_t n = (size_t)(end - p->inbox.p) - from;

		p->last_line_ms = plugin_now(p);
		p->pinged = false;
		p->lines++;
		plugin_on_line(p, p->inbox.p + from, n);
		if (p->out < 0 || p->serial != serial)
			return false;
		from += n + 1;
		look = from;
	}
	buf_drop(&p->inbox, from);
	p->scanned = p->inbox.n;
	trim_buffer(&p->inbox);
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
		plugin_hung_up(p);
		return;
	}
	buf_grew(&p->inbox, (size_t)n);
	p->bytes += (size_t)n;
	if (process_lines(p) &&
	    (p->lines > TICK_LINES || p->bytes > TICK_BYTES)) {
		p->quiet = true;
		uv_poll_stop(p->out_poll);
	}
}

void plugin_pipe_tick(struct plugin *p)
{
	p->lines = 0;
	p->bytes = 0;
	if (p->quiet && p->out_poll)
		uv_poll_start(p->out_poll, UV_READABLE, on_readable);
	p->quiet = false;
}

/* --- both ------------------------------------------------------------- */

uv_poll_t *plugin_poll_new(struct plugin *p, int fd)
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
	p->in = p->out = p->events = -1;
	buf_init(&p->inbox, PLUGIN_LINE_MAX);
	buf_init(&p->outbox, OUTBOX_MAX);
}

void plugin_pipe_fini(struct plugin *p)
{
	plugin_pipe_close(p);
	plugin_events_close(p);
	buf_fini(&p->inbox);
	buf_fini(&p->outbox);
}

void plugin_pipe_open(struct plugin *p, int in, int out)
{
	p->in = in;
	p->out = out;
	buf_clear(&p->outbox); /* messages for the former process */
	fcntl(in, F_SETFL, O_NONBLOCK);
	fcntl(out, F_SETFL, O_NONBLOCK);
	p->lines = 0;
	p->bytes = 0;
	p->quiet = p->pinged = false;
	p->in_poll = plugin_poll_new(p, in);
	p->out_poll = plugin_poll_new(p, out);
}

void plugin_pipe_listen(struct plugin *p)
{
	p->last_line_ms = plugin_now(p);
	uv_poll_start(p->out_poll, UV_READABLE, on_readable);
}

void plugin_pipe_close(struct plugin *p)
{
	plugin_poll_close(&p->in_poll, &p->in);
	plugin_poll_close(&p->out_poll, &p->out);
	p->scanned = p->written = 0;
	buf_clear(&p->inbox);
	buf_clear(&p->outbox);
	trim_buffer(&p->inbox);
	trim_buffer(&p->outbox);
}
