#include "lib/http/curl_loop.h"

#include "lib/http/curl_socket.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define CONNECTIONS_KEPT 1024L

struct list {
	struct transfer *first, *last;
};

struct curl_loop {
	uv_async_t back; /* on skepd's loop: some transfers have ended */
	uv_thread_t thread;
	bool running;

	uv_mutex_t lock; /* protects these */
	struct list starting, over;
	bool dropping, stopping;

	uv_loop_t loop; /* used by the thread only: */
	uv_async_t wake;
	uv_timer_t timer;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	CURLM *multi;
	struct curl_sockets *sockets;
	struct list active;
};

/* --- lists ------------------------------------------------------------ */

static void add_to_list(struct list *l, struct transfer *t)
{
	t->next = NULL;
	t->prev = l->last;
	if (l->last)
		l->last->next = t;
	else
		l->first = t;
	l->last = t;
}

static void remove_from_list(struct list *l, struct transfer *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		l->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		l->last = t->prev;
	t->next = t->prev = NULL;
}

static struct list list_detach(struct list *l)
{
	struct list all = *l;

	*l = (struct list){0};
	return all;
}

/* --- in the thread ---------------------------------------------------- */

static void return_transfers(struct curl_loop *c, struct list *done)
{
	struct transfer *t;

	if (!done->first)
		return;
	uv_mutex_lock(&c->lock);
	while ((t = done->first)) {
		remove_from_list(done, t);
		add_to_list(&c->over, t);
	}
	uv_mutex_unlock(&c->lock);
	uv_async_send(&c->back);
}

/* libcurl would otherwise send the end of a mail to the server, which then
 * accepts an incomplete mail, and wait for the answer. */
static void abort_transfer(struct curl_loop *c, struct transfer *t)
{
	if (t->alone)
		curl_sockets_cut(c->sockets, t->easy);
	curl_multi_remove_handle(c->multi, t->easy);
	t->code = CURLE_ABORTED_BY_CALLBACK;
}

static void end_transfer(struct curl_loop *c, struct transfer *t, CURLcode code,
			 struct list *done)
{
	curl_multi_remove_handle(c->multi, t->easy);
	remove_from_list(&c->active, t);
	t->code = code;
	add_to_list(done, t);
}

/* Once per turn, so that skepd gets many results at once. */
static void harvest(struct curl_loop *c)
{
	struct list done = {0};
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		struct transfer *t = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
				  (char **)&t);
		end_transfer(c, t, m->data.result, &done);
	}
	return_transfers(c, &done);
}

static void on_prepare(uv_prepare_t *h)
{
	harvest(h->data);
}

static void on_check(uv_check_t *h)
{
	harvest(h->data);
}

static void on_timer(uv_timer_t *t)
{
	struct curl_loop *c = t->data;
	int running;

	curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static int want_timer(CURLM *multi, long ms, void *arg)
{
	struct curl_loop *c = arg;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(&c->timer);
	else
		uv_timer_start(&c->timer, on_timer, (uint64_t)ms, 0);
	return 0;
}

static void begin_transfer(struct curl_loop *c, struct transfer *t,
			   struct list *done)
{
	if (t->code == CURLE_OK &&
	    curl_multi_add_handle(c->multi, t->easy) == CURLM_OK) {
		add_to_list(&c->active, t);
		return;
	}
	if (t->code == CURLE_OK)
		t->code = CURLE_FAILED_INIT;
	add_to_list(done, t);
}

static void stop_all(struct curl_loop *c)
{
	uv_handle_t *own[] = {
		(uv_handle_t *)&c->wake,
		(uv_handle_t *)&c->timer,
		(uv_handle_t *)&c->before_poll,
		(uv_handle_t *)&c->after_poll,
	};
	struct list done = {0};
	struct transfer *t;

	while ((t = c->active.first)) {
		abort_transfer(c, t);
		remove_from_list(&c->active, t);
		add_to_list(&done, t);
	}
	curl_multi_cleanup(c->multi);
	curl_sockets_close(c->sockets);
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		uv_close(own[i], NULL);
	return_transfers(c, &done);
}

/* Starts and drops the transfers that skepd requested. */
static bool get_requests(struct curl_loop *c, struct list *starting,
			 struct list *dropped)
{
	struct transfer *t, *next;
	bool stopping;

	uv_mutex_lock(&c->lock);
	*starting = list_detach(&c->starting);
	for (t = starting->first; t; t = t->next)
		t->code = t->drop ? CURLE_ABORTED_BY_CALLBACK : CURLE_OK;
	for (t = c->dropping ? c->active.first : NULL; t; t = next) {
		next = t->next;
		if (!t->drop)
			continue;
		remove_from_list(&c->active, t);
		add_to_list(dropped, t);
	}
	c->dropping = false;
	stopping = c->stopping;
	uv_mutex_unlock(&c->lock);
	return stopping;
}

static void on_wake(uv_async_t *h)
{
	struct curl_loop *c = h->data;
	struct list starting, dropped = {0}, done = {0};
	bool stopping = get_requests(c, &starting, &dropped);
	struct transfer *t;

	for (t = dropped.first; t; t = t->next)
		abort_transfer(c, t);
	return_transfers(c, &dropped);
	while ((t = starting.first)) {
		remove_from_list(&starting, t);
		begin_transfer(c, t, &done);
	}
	return_transfers(c, &done);
	if (stopping)
		stop_all(c);
}

static void run_thread(void *arg)
{
	struct curl_loop *c = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	uv_run(&c->loop, UV_RUN_DEFAULT);
}

/* --- on skepd's loop -------------------------------------------------- */

static void call_back_all(struct list *done)
{
	struct transfer *t;

	while ((t = done->first)) {
		remove_from_list(done, t);
		t->done(t, t->code);
	}
}

static void on_back(uv_async_t *h)
{
	struct curl_loop *c = h->data;
	struct list done;

	uv_mutex_lock(&c->lock);
	done = list_detach(&c->over);
	uv_mutex_unlock(&c->lock);
	call_back_all(&done);
}

static void make_handles(struct curl_loop *c)
{
	uv_loop_init(&c->loop);
	uv_async_init(&c->loop, &c->wake, on_wake);
	uv_timer_init(&c->loop, &c->timer);
	uv_prepare_init(&c->loop, &c->before_poll);
	uv_check_init(&c->loop, &c->after_poll);
	c->wake.data = c->timer.data = c->before_poll.data =
		c->after_poll.data = c;
	uv_prepare_start(&c->before_poll, on_prepare);
	uv_check_start(&c->after_poll, on_check);
}

static int make_multi(struct curl_loop *c, struct err *e)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) ||
	    !(c->multi = curl_multi_init()))
		return err_set(e, ERR_INTERNAL, "cannot initialize libcurl");
	make_handles(c);
	c->sockets = curl_sockets_new(c->multi, &c->loop);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
	return 0;
}

/* Started with the first transfer: libcurl and its libraries take a megabyte
 * and some milliseconds, and many hosts have no channel that needs them.
 * Without a thread, transfers wait for the next one. */
static int start_thread(struct curl_loop *c, struct err *e)
{
	if (c->running)
		return 0;
	if (!c->multi && make_multi(c, e))
		return -1;
	if (uv_thread_create(&c->thread, run_thread, c))
		return err_set(e, ERR_INTERNAL,
			       "cannot start the thread of libcurl");
	c->running = true;
	return 0;
}

struct curl_loop *curl_loop_new(uv_loop_t *loop)
{
	struct curl_loop *c = calloc(1, sizeof *c);

	if (!c || uv_mutex_init(&c->lock) ||
	    uv_async_init(loop, &c->back, on_back))
		abort();
	c->back.data = c;
	return c;
}

static void loop_closed(uv_handle_t *h)
{
	struct curl_loop *c = h->data;

	uv_mutex_destroy(&c->lock);
	free(c);
}

void curl_loop_close(struct curl_loop *c)
{
	if (!c)
		return;
	if (c->multi) {
		uv_mutex_lock(&c->lock);
		c->stopping = true;
		uv_mutex_unlock(&c->lock);
		uv_async_send(&c->wake);
		if (c->running)
			uv_thread_join(&c->thread);
		else
			uv_run(&c->loop, UV_RUN_DEFAULT);
		uv_loop_close(&c->loop);
		call_back_all(&c->over);
	}
	uv_close((uv_handle_t *)&c->back, loop_closed);
}

int curl_loop_start(struct curl_loop *c, struct transfer *t, struct err *e)
{
	if (start_thread(c, e))
		return -1;
	t->drop = false;
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	/* A dropped transfer does not wait for the name server. */
	curl_easy_setopt(t->easy, CURLOPT_QUICK_EXIT, 1L);
	curl_sockets_use(c->sockets, t->easy);
	uv_mutex_lock(&c->lock);
	add_to_list(&c->starting, t);
	uv_mutex_unlock(&c->lock);
	uv_async_send(&c->wake);
	return 0;
}

void curl_loop_drop(struct curl_loop *c, struct transfer *t)
{
	uv_mutex_lock(&c->lock);
	t->drop = true;
	c->dropping = true;
	uv_mutex_unlock(&c->lock);
	uv_async_send(&c->wake);
}
