#include "supervisor/curl_loop.h"

#include <stdlib.h>

#define CONNECTIONS_KEPT 1024L

struct curl_loop {
	CURLM *multi;
	uv_loop_t *loop;
	uv_timer_t timer;
	int handles; /* still open in the loop */
	bool closing;
};

struct watched { /* a socket of libcurl's */
	uv_poll_t poll;
	curl_socket_t fd;
	struct curl_loop *owner;
};

struct transfer {
	curl_done *done;
	void *arg;
};

static void let_go(struct curl_loop *c)
{
	if (--c->handles == 0 && c->closing)
		free(c);
}

/* Tells whoever waits of transfers that are over. */
static void harvest(struct curl_loop *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		struct transfer *t = NULL, copy;
		CURL *easy = m->easy_handle;
		CURLcode code = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
		curl_multi_remove_handle(c->multi, easy);
		copy = *t;
		free(t);
		copy.done(copy.arg, easy, code);
	}
}

static void on_socket(uv_poll_t *p, int status, int events)
{
	struct watched *w = p->data;
	struct curl_loop *c = w->owner;
	int flags = 0, running;

	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	curl_multi_socket_action(c->multi, w->fd, flags, &running);
	harvest(c);
}

static void on_timer(uv_timer_t *t)
{
	struct curl_loop *c = t->data;
	int running;

	curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	harvest(c);
}

static int want_timer(CURLM *multi, long ms, void *arg)
{
	struct curl_loop *c = arg;

	(void)multi;
	if (c->closing)
		return 0;
	if (ms < 0)
		uv_timer_stop(&c->timer);
	else
		uv_timer_start(&c->timer, on_timer, ms ? (uint64_t)ms : 0, 0);
	return 0;
}

static void closed_socket(uv_handle_t *h)
{
	struct watched *w = h->data;

	let_go(w->owner);
	free(w);
}

static void closed_timer(uv_handle_t *h)
{
	let_go(h->data);
}

static struct watched *watch(struct curl_loop *c, curl_socket_t fd)
{
	struct watched *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->fd = fd;
	w->owner = c;
	uv_poll_init_socket(c->loop, &w->poll, fd);
	w->poll.data = w;
	c->handles++;
	return w;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
		       void *mine)
{
	struct curl_loop *c = arg;
	struct watched *w = mine;
	int events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			uv_poll_stop(&w->poll);
			uv_close((uv_handle_t *)&w->poll, closed_socket);
			curl_multi_assign(c->multi, fd, NULL);
		}
		return 0;
	}
	if (!w) {
		w = watch(c, fd);
		curl_multi_assign(c->multi, fd, w);
	}
	if (what != CURL_POLL_IN)
		events |= UV_WRITABLE;
	if (what != CURL_POLL_OUT)
		events |= UV_READABLE;
	uv_poll_start(&w->poll, events, on_socket);
	return 0;
}

/* With the first transfer: libcurl and its libraries take a megabyte and some
 * milliseconds, and many hosts have no channel that needs them. */
static int start_curl(struct curl_loop *c, struct err *e)
{
	if (c->multi)
		return 0;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) ||
	    !(c->multi = curl_multi_init()))
		return err_set(e, ERR_INTERNAL, "libcurl does not start");
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
	return 0;
}

struct curl_loop *curl_loop_new(uv_loop_t *loop)
{
	struct curl_loop *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	c->loop = loop;
	c->handles = 1;
	uv_timer_init(loop, &c->timer);
	c->timer.data = c;
	return c;
}

void curl_loop_close(struct curl_loop *c)
{
	if (!c)
		return;
	if (c->multi)
		curl_multi_cleanup(c->multi);
	c->closing = true;
	uv_close((uv_handle_t *)&c->timer, closed_timer);
}

int curl_loop_add(struct curl_loop *c, CURL *easy, curl_done *done, void *arg,
		  struct err *e)
{
	struct transfer *t;
	CURLMcode rc;

	if (start_curl(c, e))
		return -1;
	t = malloc(sizeof *t);
	if (!t)
		abort();
	*t = (struct transfer){done, arg};
	curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
	rc = curl_multi_add_handle(c->multi, easy);
	if (rc == CURLM_OK)
		return 0;
	free(t);
	return err_set(e, ERR_INTERNAL, "libcurl: %s", curl_multi_strerror(rc));
}

void curl_loop_drop(struct curl_loop *c, CURL *easy)
{
	struct transfer *t = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
	curl_multi_remove_handle(c->multi, easy);
	free(t);
}
