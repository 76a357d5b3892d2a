#include "lib/http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/conn.h"
#include "lib/http/listen.h"
#include "lib/http/socket.h"
#include "lib/os/process.h"

/*
 * The connections on a loop: conn.c implements HTTP, socket.c the sockets.
 * Everything that a turn of the loop queues for a client is sent in one write
 * at the start of the next turn.
 */
struct listener {
	struct http_server *server;
	uv_poll_t poll;
	int fd; /* -1: not used */
	bool is_unix;
};

struct http_server {
	struct conn_core core;
	struct listener listeners[2]; /* unix, TCP */
	struct socket_env sockets;
	uv_idle_t idle;
	uv_timer_t timer;
	struct conn *dirty;
	unsigned nconns, ntcp; /* ntcp: of them over TCP */
	int port;
	int spare; /* closed for a moment when no fds are left */
	char *unix_path;
	struct stat unix_stat;
	bool stopped;
};

static void flush_dirty(uv_idle_t *idle);

static void wake(struct conn *c, void *arg)
{
	struct http_server *s = arg;

	if (s->stopped)
		return;
	if (c && !c->dirty_link) {
		c->dirty = s->dirty;
		c->dirty_link = &s->dirty;
		if (c->dirty)
			c->dirty->dirty_link = &c->dirty;
		s->dirty = c;
	}
	uv_idle_start(&s->idle, flush_dirty);
}

static void unlink_dirty(struct conn *c)
{
	if (!c->dirty_link)
		return;
	*c->dirty_link = c->dirty;
	if (c->dirty)
		c->dirty->dirty_link = c->dirty_link;
	c->dirty_link = NULL;
}

static void count_conn(struct http_server *s, bool is_unix, int n)
{
	s->nconns += (unsigned)n;
	s->ntcp += is_unix ? 0 : (unsigned)n;
}

static void close_conn(struct conn *c, void *arg)
{
	unlink_dirty(c);
	count_conn(arg, c->is_unix, -1);
	if (c->socket)
		socket_close(c);
	conn_free(c);
}

static void flush_dirty(uv_idle_t *idle)
{
	struct http_server *s = idle->data;
	struct conn *round = s->dirty;

	/* Connections marked from here on are for the next round. */
	s->dirty = NULL;
	if (round)
		round->dirty_link = &round;
	while (round) {
		struct conn *c = round;

		unlink_dirty(c);
		if (socket_flush(c))
			close_conn(c, s);
	}
	conn_orphans_close(&s->core);
	if (!s->dirty && !s->core.orphans)
		uv_idle_stop(idle);
}

/* An eighth of the connections is reserved for the unix socket, so that clients
 * on TCP cannot lock the operator out. */
static bool is_full(const struct http_server *s, bool is_unix)
{
	unsigned all = s->core.config.limits.conns;
	unsigned reserved = all / 8 > 2 ? all / 8 : 2;

	return s->nconns >= all || (!is_unix && s->ntcp + reserved >= all);
}

/* Send small frames at once, and detect a peer whose machine is gone. */
static void set_tcp_options(const struct http_server *s, int fd)
{
	unsigned gone_ms = s->core.config.limits.stall_ms;
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof gone_ms);
}

/* A process in a sandbox may have the user of the supervisor, and it may reach
 * the socket of another home. It does not get the rights of that user. */
static unsigned uid_of_peer(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) ||
	    process_is_inside_or_gone(peer.pid))
		return HTTP_NOBODY;
	return peer.uid;
}

static void adopt(struct http_server *s, const struct listener *l, int fd)
{
	unsigned uid = HTTP_NOBODY;

	if (is_full(s, l->is_unix)) {
		metrics_add(s->core.metrics, HTTP_M_REFUSED, NULL, 1);
		close(fd);
		return;
	}
	if (l->is_unix)
		uid = uid_of_peer(fd);
	else
		set_tcp_options(s, fd);
	struct conn *c = conn_new(&s->core, l->is_unix, uid);

	count_conn(s, l->is_unix, 1);
	if (socket_open(c, &s->sockets, fd))
		close_conn(c, s);
}

/* Without descriptors the backlog would keep the loop spinning: accept one
 * connection with the reserved descriptor and close it. */
static void shed(struct http_server *s, const struct listener *l)
{
	if (s->spare >= 0)
		close(s->spare);
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		close(fd);
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	metrics_add(s->core.metrics, HTTP_M_REFUSED, NULL, 1);
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct listener *l = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < 64; i++) { /* then others get their turn */
		int fd = accept4(l->fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			adopt(l->server, l, fd);
		else if (errno == EMFILE || errno == ENFILE)
			shed(l->server, l);
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
}

static void on_timer(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	int64_t now = clock_mono_ns();

	for (struct conn *c = s->core.conns, *next; c; c = next) {
		next = c->next; /* a tick wakes, it never frees */
		conn_tick(c, now);
	}
}

static int open_sockets(struct http_server *s, struct err *e)
{
	const struct http_config *c = &s->core.config;
	struct listener *l = s->listeners;

	if (c->unix_path) {
		l[0].fd = listen_unix(c->unix_path, e);
		if (l[0].fd < 0)
			return -1;
		s->unix_path = strdup(c->unix_path);
		stat(s->unix_path, &s->unix_stat);
	}
	if (c->tcp_address) {
		l[1].fd = listen_tcp(c->tcp_address, &s->port, e);
		if (l[1].fd < 0)
			return -1;
	}
	return 0;
}

/* The file may belong to a later server by now: delete only our own. */
static void close_sockets(struct http_server *s)
{
	struct stat now;

	for (int i = 0; i < 2; i++)
		if (s->listeners[i].fd >= 0)
			close(s->listeners[i].fd);
	if (s->unix_path && stat(s->unix_path, &now) == 0 &&
	    now.st_ino == s->unix_stat.st_ino &&
	    now.st_dev == s->unix_stat.st_dev)
		unlink(s->unix_path);
}

static void start_handles(struct http_server *s)
{
	const struct http_limits *l = &s->core.config.limits;
	uint64_t period = l->beat_ms < l->stall_ms ? l->beat_ms : l->stall_ms;

	if (l->login_ms < period)
		period = l->login_ms;
	period = period / 4 > 1000 ? 1000 : period / 4 + 1;
	for (int i = 0; i < 2; i++) {
		struct listener *li = &s->listeners[i];

		li->poll.data = li;
		if (li->fd < 0)
			continue;
		uv_poll_init(s->sockets.loop, &li->poll, li->fd);
		uv_poll_start(&li->poll, UV_READABLE, on_listener);
	}
	uv_idle_init(s->sockets.loop, &s->idle);
	s->idle.data = s;
	uv_timer_init(s->sockets.loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_timer, period, period);
}

/* Connections must not use the descriptors that everything else needs. */
static void fit_limit(struct http_limits *l)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && l->conns > r.rlim_cur / 2)
		l->conns = (unsigned)(r.rlim_cur / 2);
}

int http_server_open(struct http_server **out, uv_loop_t *loop,
		     const struct http_config *c, struct err *e)
{
	struct http_server *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	conn_core_init(&s->core, c);
	fit_limit(&s->core.config.limits);
	s->core.wake = wake;
	s->core.send = socket_send;
	s->core.wake_arg = s;
	s->sockets.loop = loop;
	s->sockets.lost = close_conn;
	s->sockets.arg = s;
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++)
		s->listeners[i] = (struct listener){
			.server = s, .fd = -1, .is_unix = i == 0};
	if (open_sockets(s, e)) {
		s->stopped = true;
		close_sockets(s);
		http_server_close(s);
		return -1;
	}
	start_handles(s);
	*out = s;
	return 0;
}

void http_server_stop(struct http_server *s)
{
	if (s->stopped)
		return;
	for (struct conn *c = s->core.conns, *next; c; c = next) {
		next = c->next;
		socket_flush(c);
	}
	s->stopped = true;
	for (int i = 0; i < 2; i++)
		if (s->listeners[i].fd >= 0)
			uv_close((uv_handle_t *)&s->listeners[i].poll, NULL);
	uv_close((uv_handle_t *)&s->idle, NULL);
	uv_close((uv_handle_t *)&s->timer, NULL);
	close_sockets(s);
	conn_orphans_close(&s->core);
	while (s->core.conns)
		close_conn(s->core.conns, s);
}

void http_server_close(struct http_server *s)
{
	if (!s)
		return;
	if (s->spare >= 0)
		close(s->spare);
	conn_orphans_close(&s->core);
	conn_core_fini(&s->core);
	free(s->unix_path);
	free(s);
}

int http_server_port(const struct http_server *s)
{
	return s->port;
}

void http_server_spent(struct http_server *s, const char *route, int64_t ns)
{
	conn_core_spent(&s->core, route, ns);
}

struct metrics *http_server_metrics(struct http_server *s)
{
	return s->core.metrics;
}
