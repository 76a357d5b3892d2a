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

#include <libwebsockets.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/conn.h"
#include "lib/http/listen.h"

/*
 * The sockets. libwebsockets carries the connections on the loop (in its raw
 * role: lib/http/README.md says why), conn.c speaks HTTP. What a turn of the loop
 * queues for a client goes out in one write at the start of the next turn.
 */
#define CHUNK (64 << 10)

struct listener {
	struct http_server *server;
	uv_poll_t poll;
	int fd; /* -1: not used */
	bool is_unix;
};

struct http_server {
	struct conn_core core;
	struct listener listeners[2]; /* unix, TCP */
	struct lws_context *lws;
	struct lws_vhost *vhost;
	uv_idle_t idle;
	uv_timer_t timer;
	struct conn *dirty;
	unsigned nconns, ntcp; /* ntcp: of them over TCP */
	int port;
	int spare; /* given up for a moment when there are no more fds */
	char *unix_path;
	struct stat unix_stat;
	bool stopped;
	unsigned char chunk[LWS_PRE + CHUNK];
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

/* What the socket does not take at once libwebsockets keeps. */
static bool send_now(struct conn *c, const struct blob *parts, int n, void *arg)
{
	struct http_server *s = arg;
	size_t total = 0;

	if (s->stopped || c->shut || lws_partial_buffered(c->wire))
		return false;
	for (int i = 0; i < n; i++) {
		if (parts[i].n > CHUNK - total)
			return false;
		memcpy(s->chunk + LWS_PRE + total, parts[i].p, parts[i].n);
		total += parts[i].n;
	}
	if (lws_write(c->wire, s->chunk + LWS_PRE, total, LWS_WRITE_RAW) < 0) {
		c->kill = true;
		wake(c, s);
	}
	return true;
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

/* Sends what the socket takes. -1: the connection is to be closed. */
static int flush(struct http_server *s, struct conn *c)
{
	const char *p;
	size_t n;

	if (c->kill)
		return -1;
	while ((n = conn_pending(c, &p)) && !lws_partial_buffered(c->wire)) {
		n = n < CHUNK ? n : CHUNK;
		memcpy(s->chunk + LWS_PRE, p, n);
		if (lws_write(c->wire, s->chunk + LWS_PRE, n, LWS_WRITE_RAW) <
		    0)
			return -1;
		conn_sent(c, n);
	}
	if (n == 0)
		conn_resume(c);
	if (conn_is_done(c) && !c->shut && !lws_partial_buffered(c->wire)) {
		/* Let the client read to the end before the socket goes. */
		shutdown(lws_get_socket_fd(c->wire), SHUT_WR);
		c->shut = true;
		c->since = clock_mono_ns();
	}
	return 0;
}

static void flush_dirty(uv_idle_t *idle)
{
	struct http_server *s = idle->data;
	struct conn *round = s->dirty;

	/* What gets dirty from here on is for the next round. */
	s->dirty = NULL;
	if (round)
		round->dirty_link = &round;
	while (round) {
		struct conn *c = round;

		unlink_dirty(c);
		if (flush(s, c))
			lws_set_timeout(c->wire, PENDING_TIMEOUT_USER_OK,
					LWS_TO_KILL_SYNC);
	}
	conn_orphans_close(&s->core);
	if (!s->dirty && !s->core.orphans)
		uv_idle_stop(idle);
}

static void count_conn(struct http_server *s, bool is_unix, int n)
{
	s->nconns += (unsigned)n;
	s->ntcp += is_unix ? 0 : (unsigned)n;
}

/* An eighth of the connections is for the unix socket: no number of clients on
 * TCP can lock the operator out. */
static bool is_full(const struct http_server *s, bool is_unix)
{
	unsigned all = s->core.config.limits.conns;
	unsigned reserved = all / 8 > 2 ? all / 8 : 2;

	return s->nconns >= all || (!is_unix && s->ntcp + reserved >= all);
}

static int on_lws(struct lws *wsi, enum lws_callback_reasons reason, void *user,
		  void *in, size_t n)
{
	struct conn *c = lws_get_opaque_user_data(wsi);
	struct http_server *s = c ? c->core->wake_arg : NULL;

	(void)user;
	if (!c)
		return 0;
	if (reason == LWS_CALLBACK_RAW_ADOPT) {
		c->wire = wsi;
	} else if (reason == LWS_CALLBACK_RAW_RX) {
		conn_input(c, in, n);
	} else if (reason == LWS_CALLBACK_RAW_WRITEABLE) {
		return flush(s, c);
	} else if (reason == LWS_CALLBACK_RAW_CLOSE) {
		lws_set_opaque_user_data(wsi, NULL);
		unlink_dirty(c);
		count_conn(s, c->is_unix, -1);
		conn_free(c);
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{.name = "http", .callback = on_lws},
	{0},
};

/* Small frames leave at once, and a peer whose machine is gone is noticed. */
static void set_tcp_options(const struct http_server *s, int fd)
{
	unsigned gone_ms = s->core.config.limits.stall_ms;
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof gone_ms);
}

static void adopt(struct http_server *s, const struct listener *l, int fd)
{
	lws_adopt_desc_t d = {.vh = s->vhost,
			      .type = LWS_ADOPT_SOCKET,
			      .fd = {.sockfd = fd},
			      .vh_prot_name = "http"};
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t n = sizeof peer;

	if (is_full(s, l->is_unix)) {
		metrics_add(s->core.metrics, HTTP_M_REFUSED, NULL, 1);
		close(fd);
		return;
	}
	if (l->is_unix)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	else
		set_tcp_options(s, fd);
	struct conn *c = conn_new(&s->core, l->is_unix, peer.uid);

	d.opaque = c;
	count_conn(s, l->is_unix, 1);
	if (!lws_adopt_descriptor_vhost_via_info(&d) && !c->wire) {
		/* it did not get as far as having a close */
		count_conn(s, l->is_unix, -1);
		conn_free(c);
	}
}

/* Out of descriptors the backlog would keep the loop spinning: take one
 * connection off it with the descriptor kept for this, and hang up. */
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
	for (int i = 0; i < 64; i++) { /* others want their turn too */
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

static void on_lws_log(int level, const char *line)
{
	size_t n = strcspn(line, "\n");
	char text[256];

	snprintf(text, sizeof text, "%.*s", (int)n, line);
	if (level == LLL_ERR)
		log_warn(LT("msg", "libwebsockets"), LT("says", text));
	else
		log_debug(LT("msg", "libwebsockets"), LT("says", text));
}

static int open_lws(struct http_server *s, uv_loop_t *loop, struct err *e)
{
	void *loops[1] = {loop};
	struct lws_context_creation_info info = {
		.options = LWS_SERVER_OPTION_LIBUV |
			   LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
		.foreign_loops = loops,
		.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.protocols = protocols,
		.vhost_name = "skep",
		.pt_serv_buf_size = CHUNK,
	};

	lws_set_log_level(LLL_ERR | LLL_WARN, on_lws_log);
	s->lws = lws_create_context(&info);
	if (!s->lws)
		return err_set(e, ERR_INTERNAL,
			       "libwebsockets does not start; is the package "
			       "libwebsockets-evlib-uv installed?");
	s->vhost = lws_create_vhost(s->lws, &info);
	if (!s->vhost)
		return err_set(e, ERR_INTERNAL, "libwebsockets has no vhost");
	return 0;
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

/* The file may be a later server's by now: only ours is removed. */
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

static void start_handles(struct http_server *s, uv_loop_t *loop)
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
		uv_poll_init(loop, &li->poll, li->fd);
		uv_poll_start(&li->poll, UV_READABLE, on_listener);
	}
	uv_idle_init(loop, &s->idle);
	s->idle.data = s;
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_timer, period, period);
}

/* Connections must not take the descriptors that everything else needs. */
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
	s->core.send = send_now;
	s->core.wake_arg = s;
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++)
		s->listeners[i] = (struct listener){
			.server = s, .fd = -1, .is_unix = i == 0};
	if (open_sockets(s, e) || open_lws(s, loop, e)) {
		s->stopped = true;
		close_sockets(s);
		http_server_close(s);
		return -1;
	}
	start_handles(s, loop);
	*out = s;
	return 0;
}

void http_server_stop(struct http_server *s)
{
	if (s->stopped)
		return;
	for (struct conn *c = s->core.conns, *next; c; c = next) {
		next = c->next;
		flush(s, c);
	}
	s->stopped = true;
	for (int i = 0; i < 2; i++)
		if (s->listeners[i].fd >= 0)
			uv_close((uv_handle_t *)&s->listeners[i].poll, NULL);
	uv_close((uv_handle_t *)&s->idle, NULL);
	uv_close((uv_handle_t *)&s->timer, NULL);
	close_sockets(s);
	conn_orphans_close(&s->core);
	lws_context_destroy(s->lws); /* the rest of it is done by the loop */
}

void http_server_close(struct http_server *s)
{
	if (!s)
		return;
	if (s->lws)
		lws_context_destroy(
			s->lws); /* frees what the first call left */
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
