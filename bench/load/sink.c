#include "bench/load/sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM    16384
#define EVENTS  256
#define BACKLOG 1024

static const char answer[] = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

struct peer { /* one connection, in a list of all */
	struct peer *next;
	int fd;
	size_t n;
	char text[ROOM + 1];
};

struct sink {
	int listener, poll, quit;
	bool dead;
	int port;
	pthread_t thread;
	struct peer *peers;
	_Atomic int64_t count;
};

/* The length of the first complete request, or 0. The sender is libcurl, which
 * writes the header like this. */
static size_t whole(const struct peer *p)
{
	const char *end = strstr(p->text, "\r\n\r\n");
	const char *at = strstr(p->text, "Content-Length:");
	size_t n;

	if (!end || !at || at > end)
		return 0;
	n = (size_t)(end + 4 - p->text) + strtoul(at + 15, NULL, 10);
	return n <= p->n ? n : 0;
}

/* False: the connection has ended. The buffer is large enough for everything
 * that arrives, so one read is enough. */
static bool read_requests(struct sink *s, struct peer *p)
{
	ssize_t got = read(p->fd, p->text + p->n, ROOM - p->n);
	size_t n;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	p->n = s->dead ? 0 : p->n + (size_t)got;
	p->text[p->n] = '\0';
	while ((n = whole(p))) {
		memmove(p->text, p->text + n, p->n - n + 1);
		p->n -= n;
		if (write(p->fd, answer, sizeof answer - 1) < 0)
			return false;
		atomic_fetch_add(&s->count, 1);
	}
	return p->n < ROOM;
}

static void accept_peer(struct sink *s)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	struct peer *p = calloc(1, sizeof *p);
	int one = 1;

	if (!p)
		abort();
	p->fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (p->fd < 0) {
		free(p);
		return;
	}
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	p->next = s->peers;
	s->peers = p;
	ev.data.ptr = p;
	epoll_ctl(s->poll, EPOLL_CTL_ADD, p->fd, &ev);
}

static void close_peer(struct sink *s, struct peer *p)
{
	struct peer **at = &s->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	close(p->fd);
	free(p);
}

static void *serve_peers(void *arg)
{
	struct epoll_event events[EVENTS];
	struct sched_param any = {0};
	struct sink *s = arg;

	/* Does not preempt the process that it answers: with two CPUs for skepd
	 * and the receiver, a context switch per message would be a fifth of
	 * the measured time. */
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &any);
	for (;;) {
		int n = epoll_wait(s->poll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			void *who = events[i].data.ptr;

			if (who == &s->quit)
				return NULL;
			if (who == &s->listener)
				accept_peer(s);
			else if (!read_requests(s, who))
				close_peer(s, who);
		}
	}
}

static int listen_on(struct sink *s, struct err *e)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof at;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listener < 0 ||
	    bind(s->listener, (struct sockaddr *)&at, sizeof at) ||
	    listen(s->listener, BACKLOG) ||
	    getsockname(s->listener, (struct sockaddr *)&at, &n))
		return err_errno_set(e, "no socket for the receiver");
	s->port = ntohs(at.sin_port);
	return 0;
}

int sink_open(struct sink **out, bool dead, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct sink *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	s->dead = dead;
	if (listen_on(s, e)) {
		free(s);
		return -1;
	}
	s->poll = epoll_create1(EPOLL_CLOEXEC);
	s->quit = eventfd(0, EFD_CLOEXEC);
	ev.data.ptr = &s->listener;
	epoll_ctl(s->poll, EPOLL_CTL_ADD, s->listener, &ev);
	ev.data.ptr = &s->quit;
	epoll_ctl(s->poll, EPOLL_CTL_ADD, s->quit, &ev);
	if (pthread_create(&s->thread, NULL, serve_peers, s))
		abort();
	*out = s;
	return 0;
}

void sink_close(struct sink *s)
{
	uint64_t one = 1;

	if (!s)
		return;
	(void)!write(s->quit, &one, sizeof one);
	pthread_join(s->thread, NULL);
	while (s->peers)
		close_peer(s, s->peers);
	close(s->listener);
	close(s->poll);
	close(s->quit);
	free(s);
}

int sink_port(const struct sink *s)
{
	return s->port;
}

int64_t sink_count(const struct sink *s)
{
	return atomic_load(&s->count);
}
