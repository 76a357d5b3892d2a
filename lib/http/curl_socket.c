#include "lib/http/curl_socket.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct watched {
	uv_poll_t poll;
	struct curl_sockets *owner;
	const CURL *easy; /* current user; may change later */
	curl_socket_t fd;
	int wanted;   /* set by libcurl; 0: libcurl does not watch it */
	int watching; /* events that the loop waits for */
};

struct slot {
	struct watched *w;
	bool is_ours; /* libcurl reports when it is closed */
};

struct curl_sockets {
	CURLM *multi;
	uv_loop_t *loop;
	struct slot *slots; /* by file descriptor */
	size_t n;
	int open; /* open handles, plus one for the object */
};

static struct slot *slot_of(struct curl_sockets *s, curl_socket_t fd)
{
	size_t want = (size_t)fd + 1, n = s->n ? s->n : 64;

	if (want > s->n) {
		while (n < want)
			n *= 2;
		s->slots = realloc(s->slots, n * sizeof *s->slots);
		if (!s->slots)
			abort();
		memset(s->slots + s->n, 0, (n - s->n) * sizeof *s->slots);
		s->n = n;
	}
	return &s->slots[fd];
}

static void release(struct curl_sockets *s)
{
	if (--s->open)
		return;
	free(s->slots);
	free(s);
}

static void watcher_closed(uv_handle_t *h)
{
	struct watched *w = h->data;

	release(w->owner);
	free(w);
}

static void unwatch(struct slot *at)
{
	if (at->w)
		uv_close((uv_handle_t *)&at->w->poll, watcher_closed);
	at->w = NULL;
}

static void on_socket(uv_poll_t *p, int status, int events);

static void watch_for(struct watched *w, int events)
{
	if (events == w->watching)
		return;
	w->watching = events;
	if (events)
		uv_poll_start(&w->poll, events, on_socket);
	else
		uv_poll_stop(&w->poll);
}

static void on_socket(uv_poll_t *p, int status, int events)
{
	struct watched *w = p->data;
	int flags = status < 0 ? CURL_CSELECT_ERR : 0, running;

	if (!w->wanted) { /* idle: probably closed by the peer */
		watch_for(w, 0);
		return;
	}
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	curl_multi_socket_action(w->owner->multi, w->fd, flags, &running);
}

static struct watched *watch_socket(struct curl_sockets *s, curl_socket_t fd)
{
	struct watched *w = calloc(1, sizeof *w);

	if (!w || uv_poll_init_socket(s->loop, &w->poll, fd))
		abort();
	w->fd = fd;
	w->owner = s;
	w->poll.data = w;
	s->open++;
	return w;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
		       void *mine)
{
	struct slot *at = slot_of(arg, fd);
	int events = 0;

	(void)mine;
	if (what == CURL_POLL_REMOVE && !at->is_ours) {
		unwatch(at); /* libcurl may close it without a report */
		return 0;
	}
	if (!at->w && what == CURL_POLL_REMOVE)
		return 0;
	if (!at->w)
		at->w = watch_socket(arg, fd);
	if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
		events |= UV_WRITABLE;
	if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
		events |= UV_READABLE;
	at->w->wanted = events;
	at->w->easy = easy;
	if (what == CURL_POLL_REMOVE)
		events = at->w->watching & UV_READABLE;
	watch_for(at->w, events);
	return 0;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose,
				 struct curl_sockaddr *to)
{
	curl_socket_t fd = socket(to->family, to->socktype | SOCK_CLOEXEC,
				  to->protocol);

	(void)purpose;
	if (fd >= 0)
		slot_of(arg, fd)->is_ours = true;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *arg, curl_socket_t fd)
{
	struct slot *at = slot_of(arg, fd);

	unwatch(at);
	at->is_ours = false;
	return close(fd);
}

struct curl_sockets *curl_sockets_new(CURLM *multi, uv_loop_t *loop)
{
	struct curl_sockets *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	s->multi = multi;
	s->loop = loop;
	s->open = 1;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, s);
	return s;
}

void curl_sockets_use(struct curl_sockets *s, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, s);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, s);
}

void curl_sockets_cut(struct curl_sockets *s, const CURL *easy)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct watched *w = s->slots[i].w;

		if (w && w->wanted && w->easy == easy)
			shutdown(w->fd, SHUT_RDWR);
	}
}

void curl_sockets_close(struct curl_sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		unwatch(&s->slots[i]);
	release(s);
}
