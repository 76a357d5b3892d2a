#include "bench/load/mock_llm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM    (64u << 10) /* of a request */
#define BACKLOG 1024
#define STACK   (128u << 10)

struct mock_llm {
	int listener, port;
	int words, pause_ms;
	pthread_t thread;
	_Atomic int64_t streams;
	_Atomic int64_t threads;
};

struct visit {
	struct mock_llm *server;
	int fd;
};

static bool whole(const char *text, size_t n)
{
	const char *end = strstr(text, "\r\n\r\n");
	const char *at = strcasestr(text, "content-length:");

	return end && at && at < end &&
	       (size_t)(end + 4 - text) + strtoul(at + 15, NULL, 10) <= n;
}

static bool read_request(int fd)
{
	char *text = calloc(1, ROOM + 1);
	size_t n = 0;
	ssize_t got = 1;
	bool is_whole = false;

	if (!text)
		abort();
	while (got > 0 && n < ROOM && !is_whole) {
		got = read(fd, text + n, ROOM - n);
		n += got > 0 ? (size_t)got : 0;
		is_whole = whole(text, n);
	}
	free(text);
	return is_whole;
}

static bool send_text(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) ==
	       (ssize_t)strlen(text);
}

static void serve_client(const struct mock_llm *t, int fd)
{
	struct timespec pause = {t->pause_ms / 1000,
				 (long)(t->pause_ms % 1000) * 1000000};
	bool connected = send_text(
		fd, "HTTP/1.1 200 OK\r\ncontent-type: "
		    "text/event-stream\r\nconnection: close\r\n\r\n");

	for (int i = 0; connected && i < t->words; i++) {
		connected = send_text(
			fd, "data: {\"choices\":[{\"index\":0,\"delta\":{"
			    "\"content\":\"word \"}}]}\n\n");
		(void)nanosleep(&pause, NULL);
	}
	if (connected)
		(void)send_text(fd,
				"data: {\"choices\":[{\"index\":0,\"delta\":{},"
				"\"finish_reason\":\"stop\"}],\"usage\":{"
				"\"prompt_tokens\":9,\"completion_tokens\":9}}"
				"\n\ndata: [DONE]\n\n");
}

static void *visit(void *arg)
{
	struct visit v = *(struct visit *)arg;

	free(arg);
	if (read_request(v.fd)) {
		atomic_fetch_add(&v.server->streams, 1);
		serve_client(v.server, v.fd);
		atomic_fetch_sub(&v.server->streams, 1);
	}
	close(v.fd);
	atomic_fetch_sub(&v.server->threads, 1);
	return NULL;
}

static void accept_peer(struct mock_llm *t, int fd)
{
	struct visit *v = malloc(sizeof *v);
	pthread_attr_t small;
	pthread_t thread;
	int one = 1;

	if (!v)
		abort();
	*v = (struct visit){t, fd};
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&t->threads, 1);
	if (pthread_create(&thread, &small, visit, v)) {
		atomic_fetch_sub(&t->threads, 1);
		close(fd);
		free(v);
	}
	pthread_attr_destroy(&small);
}

static void *serve_requests(void *arg)
{
	struct mock_llm *t = arg;
	int fd;

	while ((fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 ||
	       errno == EINTR || errno == ECONNABORTED)
		if (fd >= 0)
			accept_peer(t, fd);
	return NULL;
}

int mock_llm_open(struct mock_llm **out, int words, int pause_ms, struct err *e)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	struct mock_llm *t = calloc(1, sizeof *t);

	if (!t)
		abort();
	t->words = words;
	t->pause_ms = pause_ms;
	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->listener < 0 ||
	    bind(t->listener, (struct sockaddr *)&a, sizeof a) ||
	    listen(t->listener, BACKLOG) ||
	    getsockname(t->listener, (struct sockaddr *)&a, &n) ||
	    pthread_create(&t->thread, NULL, serve_requests, t)) {
		err_errno_set(e, "a server on loopback");
		if (t->listener >= 0)
			close(t->listener);
		free(t);
		return -1;
	}
	t->port = ntohs(a.sin_port);
	*out = t;
	return 0;
}

void mock_llm_close(struct mock_llm *t)
{
	struct timespec pause = {0, 5000000};

	(void)shutdown(t->listener, SHUT_RDWR);
	pthread_join(t->thread, NULL);
	while (atomic_load(&t->threads) > 0)
		(void)nanosleep(&pause, NULL);
	close(t->listener);
	free(t);
}

int mock_llm_port(const struct mock_llm *t)
{
	return t->port;
}

int64_t mock_llm_streams(const struct mock_llm *t)
{
	return atomic_load(&t->streams);
}
