#include "ipc/client_internal.h"

#include "ipc/sp_frame.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/id.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING_MS    1000 /* a live listener sends its greeting within 1 ms */
#define HELLO_MS       5000 /* and its supervisor responds within this time */
#define DELAY_FIRST_MS 4
#define DELAY_MAX_MS   500
#define POLL_MAX_MS    60000
#define HINT_EVERY_MS  5

static bool is_closing(struct ipc_client *c)
{
	bool closing;

	pthread_mutex_lock(&c->lock);
	closing = c->closing;
	pthread_mutex_unlock(&c->lock);
	return closing;
}

/* Frames a message of our own; none of them can exceed a limit. */
uint32_t ipc_link_send(struct ipc_client *c, const char *json, size_t n)
{
	c->number = (c->number + 1) & 0x7fffffffu;
	if (c->number == 0)
		c->number = 1;
	sp_put(&c->out, c->number, json, n);
	return c->number;
}

static uint32_t ask_msg(struct ipc_client *c, struct msg *m)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct err e;
	uint32_t number = 0;

	m->u.who = (struct msg_who){c->config.hello.run,
				    c->config.hello.attempt,
				    c->config.hello.token};
	if (msg_encode(m, &b, &e) == 0)
		number = ipc_link_send(c, b.p, b.n);
	buf_fini(&b);
	return number;
}

static void ask_ready(struct ipc_client *c)
{
	struct msg m = {.type = MSG_TYPE_READY};

	m.u.ready.last = c->last_command;
	c->pending.ready = ask_msg(c, &m);
}

static void ask_hello(struct ipc_client *c)
{
	struct msg m = {.type = MSG_TYPE_HELLO, .u.hello = c->config.hello};

	c->pending.hello = ask_msg(c, &m);
	c->greeted_by = clock_mono_ns() + (int64_t)HELLO_MS * NS_PER_MS;
}

/* With the lock held: the next report. Hints alone are sent at intervals;
 * otherwise a worker in a burst would send all the time. */
static struct report *next_report(struct ipc_client *c)
{
	int64_t since = (clock_mono_ns() - c->hinted) / NS_PER_MS;
	bool hurry = since >= HINT_EVERY_MS;

	c->hint_in_ms = POLL_MAX_MS;
	for (struct report *r = c->queue; r && !hurry; r = r->next)
		hurry = msg_kind(r->type) != MSG_IS_HINT;
	if (!c->queue || hurry)
		return c->queue;
	c->hint_in_ms = HINT_EVERY_MS - since;
	return NULL;
}

/* Sends a report if none is in flight. */
static void ask_report(struct ipc_client *c)
{
	struct report *r = NULL;

	pthread_mutex_lock(&c->lock);
	if (c->greeted && !c->pending.report)
		r = next_report(c);
	if (r) {
		r->sent = true;
		c->pending.report = ipc_link_send(c, r->json, r->n);
		if (msg_kind(r->type) == MSG_IS_HINT)
			c->hinted = clock_mono_ns();
	}
	pthread_mutex_unlock(&c->lock);
}

static void complete_report(struct ipc_client *c)
{
	struct report **at, *done;

	c->pending.report = 0;
	c->last_sent = clock_mono_ns();
	pthread_mutex_lock(&c->lock);
	for (at = &c->queue; *at && !(*at)->sent; at = &(*at)->next)
		;
	done = *at;
	assert(done);
	*at = done->next;
	c->queued--;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	free(done);
}

static void set_greeted(struct ipc_client *c, bool greeted)
{
	pthread_mutex_lock(&c->lock);
	c->greeted = greeted;
	for (struct report *r = c->queue; r && !greeted; r = r->next)
		r->sent = false;
	if (!greeted)
		open_requests_reset(c);
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

/* Nothing is sent under this identity once another one is due. */
static int take_command(struct ipc_client *c, const struct msg *m,
			struct err *e)
{
	c->pending.ready = 0;
	if (m->u.id > c->last_command) {
		c->last_command = m->u.id;
		c->config.calls.command(c->config.calls.arg, m);
	}
	if (m->type == MSG_TYPE_NEXT) {
		c->parting = true;
		return err_set(e, ERR_STALE, "another owner took over");
	}
	ask_ready(c);
	return 0;
}

/* A response must match one of our requests and its kind. */
static int handle_answer(struct ipc_client *c, const struct sp_frame *f,
			 struct err *e)
{
	bool command = f->request == c->pending.ready;
	bool report = f->request == c->pending.report;
	bool request = open_request_is(c, f->request);
	struct msg m;

	if (f->request == 0 ||
	    (!command && !report && !request && f->request != c->pending.hello))
		return 0; /* the request was sent on an earlier connection */
	if (msg_decode(f->p, f->n, SIDE_SUPERVISOR, &c->turn, &m, e))
		return -1;
	if (m.type == MSG_TYPE_REFUSE) {
		c->over = true;
		c->config.calls.refused(c->config.calls.arg, m.u.refuse.why);
		return err_set(e, ERR_STALE, "refused");
	}
	if (msg_kind(m.type) != (command   ? MSG_IS_COMMAND
				 : request ? MSG_IS_RESULT
					   : MSG_IS_REPLY))
		return err_set(e, ERR_PROTOCOL, "%s is not a valid response",
			       msg_name(m.type));
	if (command)
		return take_command(c, &m, e);
	if (request) {
		open_request_end(c, f->request);
		c->config.calls.result(c->config.calls.arg, &m);
	} else if (report) {
		complete_report(c);
	} else {
		c->pending.hello = 0;
		/* a supervisor that was restarted learns at once how far we
		 * are: the next heartbeat is due */
		c->last_sent = c->failures ? 0 : clock_mono_ns();
		c->failures = 0;
		set_greeted(c, true);
		ask_ready(c);
	}
	return 0;
}

static int read_some(struct ipc_client *c, struct err *e)
{
	char *room = buf_room(&c->in, 4096);
	struct sp_frame f;
	ssize_t n;
	int rc;

	if (!room)
		return err_set(e, ERR_TOOBIG, "the frame is too long");
	n = recv(c->fd, room, 4096, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return err_set(e, ERR_UNAVAILABLE,
			       "the supervisor closed the connection");
	buf_grew(&c->in, (size_t)n);
	while ((rc = sp_get(c->in.p, c->in.n, MSG_MAX_BYTES, &f, e)) > 0) {
		rc = handle_answer(c, &f, e);
		arena_reset(&c->turn);
		if (rc)
			break;
		buf_drop(&c->in, f.size);
	}
	return rc;
}

static int write_some(struct ipc_client *c, struct err *e)
{
	ssize_t n;

	if (c->out.n == 0)
		return 0;
	n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return err_set(e, ERR_UNAVAILABLE,
			       "the supervisor closed the connection");
	buf_drop(&c->out, (size_t)n);
	return 0;
}

/* Waits for the socket, for other threads, or for `ms`. */
static bool wait_for(struct ipc_client *c, int64_t ms)
{
	uint64_t count;
	struct pollfd p[2] = {
		{.fd = c->wake, .events = POLLIN},
		{.fd = c->fd,
		 .events = (short)(POLLIN | (c->out.n ? POLLOUT : 0))},
	};

	if (ms < 0)
		ms = 0;
	(void)poll(p, 2, (int)(ms < POLL_MAX_MS ? ms : POLL_MAX_MS));
	if (p[0].revents)
		(void)!read(c->wake, &count, sizeof count);
	return p[1].revents & (POLLIN | POLLHUP | POLLERR);
}

static void sign_of_life(struct ipc_client *c)
{
	struct msg m = {.type = MSG_TYPE_HEARTBEAT};
	struct err e;

	c->last_sent = clock_mono_ns();
	atomic_store(&c->beat_at, 0);
	c->config.calls.heartbeat(c->config.calls.arg, &m.u.heartbeat);
	(void)ipc_client_report(c, &m, &e);
}

/* Time until a heartbeat is due, or, before we are accepted, until that should
 * have happened. */
static int64_t until_due(const struct ipc_client *c)
{
	int64_t now = clock_mono_ns(), beat_at = atomic_load(&c->beat_at);
	int64_t at = c->last_sent + c->config.heartbeat_ms * NS_PER_MS;

	if (!c->pending.ready)
		return (c->greeted_by - now) / NS_PER_MS;
	if (beat_at && beat_at < at)
		at = beat_at;
	return (at - now + NS_PER_MS - 1) / NS_PER_MS;
}

static int64_t until_anything(const struct ipc_client *c)
{
	int64_t due = until_due(c);

	return due < c->hint_in_ms ? due : c->hint_in_ms;
}

static void serve_connection(struct ipc_client *c)
{
	struct err e;

	ask_hello(c);
	while (!is_closing(c)) {
		ask_report(c);
		open_requests_send(c);
		if (write_some(c, &e))
			return;
		if (wait_for(c, until_anything(c)) && read_some(c, &e))
			return;
		if (until_due(c) > 0)
			continue;
		if (!c->pending.ready)
			return; /* no server is behind this connection */
		sign_of_life(c);
	}
}

/* The greetings are exchanged first, so that the listener normally does not see
 * us die halfway through them. */
static int greet(struct ipc_client *c)
{
	unsigned char greeting[SP_GREETING];
	size_t got = 0;
	int64_t until = clock_mono_ns() + (int64_t)GREETING_MS * NS_PER_MS;

	if (send(c->fd, sp_req, sizeof sp_req, MSG_NOSIGNAL) != sizeof sp_req)
		return -1;
	while (got < sizeof greeting) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};
		int64_t left = (until - clock_mono_ns()) / NS_PER_MS;
		ssize_t n;

		if (left <= 0 || is_closing(c))
			return -1;
		if (poll(&p, 1, (int)(left < 50 ? left : 50)) <= 0)
			continue;
		n = recv(c->fd, greeting + got, sizeof greeting - got, 0);
		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	return sp_is_rep(greeting) ? 0 : -1;
}

static int dial(struct ipc_client *c)
{
	const struct sockaddr *to = (const struct sockaddr *)&c->address;

	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -1;
	if (connect(c->fd, to, sizeof c->address) == 0 && greet(c) == 0)
		return 0;
	close(c->fd);
	c->fd = -1;
	return -1;
}

static void hang_up(struct ipc_client *c)
{
	close(c->fd);
	c->fd = -1;
	c->pending = (struct requests){0};
	c->hint_in_ms = POLL_MAX_MS;
	buf_clear(&c->in);
	buf_clear(&c->out);
	c->lost_since = clock_mono_ns();
	c->lost = false;
	set_greeted(c, false);
}

/* Workers that lost the same supervisor must not reconnect simultaneously. */
static void rest(struct ipc_client *c)
{
	int64_t gone = (clock_mono_ns() - c->lost_since) / NS_PER_MS;
	int64_t delay;
	uint32_t dice;

	if (!c->lost && gone >= c->config.lost_after_ms) {
		c->lost = true;
		c->config.calls.lost(c->config.calls.arg);
	}
	delay = backoff_next(++c->failures, DELAY_FIRST_MS, DELAY_MAX_MS);
	id_random(&dice, sizeof dice);
	wait_for(c, 1 + (int64_t)(dice % (uint32_t)delay));
}

static bool is_resting(struct ipc_client *c)
{
	bool resting;

	pthread_mutex_lock(&c->lock);
	if (c->parting) {
		c->resting = true;
		c->parting = false;
		pthread_cond_broadcast(&c->moved);
	}
	resting = c->resting;
	pthread_mutex_unlock(&c->lock);
	return resting;
}

void *ipc_link_run(void *arg)
{
	struct ipc_client *c = arg;

	c->lost_since = c->last_sent = clock_mono_ns();
	c->hint_in_ms = POLL_MAX_MS;
	if (c->config.quiet_ms > 0)
		wait_for(c, c->config.quiet_ms);
	while (!c->over && !is_closing(c)) {
		if (is_resting(c)) {
			wait_for(c, POLL_MAX_MS);
			continue;
		}
		if (dial(c)) {
			rest(c);
			continue;
		}
		serve_connection(c);
		hang_up(c);
	}
	set_greeted(c, false);
	return NULL;
}
