#include "supervisor/core/agent_work.h"

#include "lib/base/log.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_KEPT 2
#define THREADS_MAX  32
#define STACK_SIZE   (1 << 20)

enum thread_state { THREAD_NONE, THREAD_RUNS, THREAD_OVER };

struct agent_thread {
	uv_thread_t id;
	enum thread_state state;
	struct agent_threads *pool;
};

struct agent_threads {
	uv_async_t finished;
	int64_t pending; /* submitted, `done` not called yet; used by the
			  * loop */
	uint64_t seen;   /* `count` at the last tick; used by the loop */
	bool closing;

	uv_mutex_t lock; /* protects everything below */
	uv_cond_t wake;
	struct agent_work *waiting, **end; /* in order */
	int nwaiting;
	struct agent_work *running;
	struct agent_work *over, **over_end;
	uint64_t count; /* finished so far */
	int threads, idle;
	bool ends;
	struct agent_thread slots[THREADS_MAX];
};

/* --- in a thread, with the lock --------------------------------------- */

static bool is_running(const struct agent_threads *p, const char *agent)
{
	const struct agent_work *w = p->running;

	while (w && strcmp(w->agent, agent) != 0)
		w = w->next;
	return w != NULL;
}

/* The first one whose agent has none in progress, or NULL. */
static struct agent_work **find_runnable(struct agent_threads *p)
{
	struct agent_work **at = &p->waiting;

	while (*at && is_running(p, (*at)->agent))
		at = &(*at)->next;
	return *at ? at : NULL;
}

static struct agent_work *take_runnable(struct agent_threads *p)
{
	struct agent_work **at = find_runnable(p), *w;

	if (!at)
		return NULL;
	w = *at;
	*at = w->next;
	if (p->end == &w->next)
		p->end = at;
	p->nwaiting--;
	w->next = p->running;
	p->running = w;
	return w;
}

static void finish_work(struct agent_threads *p, struct agent_work *w)
{
	struct agent_work **at = &p->running;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->next = NULL;
	*p->over_end = w;
	p->over_end = &w->next;
	p->count++;
	uv_async_send(&p->finished);
}

static void do_work(struct agent_threads *p)
{
	struct agent_work *w;

	while ((w = take_runnable(p))) {
		uv_mutex_unlock(&p->lock);
		w->in_thread(w);
		uv_mutex_lock(&p->lock);
		finish_work(p, w);
	}
}

static void thread_main(void *arg)
{
	struct agent_thread *t = arg;
	struct agent_threads *p = t->pool;

	uv_mutex_lock(&p->lock);
	for (;;) {
		do_work(p);
		if (p->ends || p->threads > THREADS_KEPT)
			break;
		p->idle++;
		uv_cond_wait(&p->wake, &p->lock);
		p->idle--;
	}
	p->threads--;
	t->state = THREAD_OVER;
	uv_mutex_unlock(&p->lock);
}

/* --- on the loop ------------------------------------------------------ */

/* Call it with the lock. If no thread can be created, the next tick tries
 * again. */
static void add_thread(struct agent_threads *p)
{
	uv_thread_options_t o = {UV_THREAD_HAS_STACK_SIZE, STACK_SIZE};
	struct agent_thread *t = p->slots;

	if (p->threads == THREADS_MAX)
		return;
	while (t->state == THREAD_RUNS)
		t++;
	if (t->state == THREAD_OVER)
		uv_thread_join(&t->id);
	t->pool = p;
	t->state = THREAD_RUNS;
	if (uv_thread_create_ex(&t->id, &o, thread_main, t)) {
		t->state = THREAD_NONE;
		log_warn(LT("msg", "cannot start a thread for agents' files"));
		return;
	}
	p->threads++;
}

static void end_if_closing(struct agent_threads *p)
{
	if (p->closing && p->pending == 0 &&
	    !uv_is_closing((uv_handle_t *)&p->finished))
		uv_close((uv_handle_t *)&p->finished, NULL);
}

static void on_finished(uv_async_t *h)
{
	struct agent_threads *p = h->data;
	struct agent_work *w, *next;

	uv_mutex_lock(&p->lock);
	w = p->over;
	p->over = NULL;
	p->over_end = &p->over;
	uv_mutex_unlock(&p->lock);
	for (; w; w = next) {
		next = w->next;
		if (--p->pending == 0)
			uv_unref((uv_handle_t *)h);
		w->done(w);
	}
	end_if_closing(p);
}

struct agent_threads *agent_threads_new(uv_loop_t *loop)
{
	struct agent_threads *p = calloc(1, sizeof *p);

	if (!p || uv_mutex_init(&p->lock) || uv_cond_init(&p->wake) ||
	    uv_async_init(loop, &p->finished, on_finished))
		abort();
	p->finished.data = p;
	uv_unref((uv_handle_t *)&p->finished);
	p->end = &p->waiting;
	p->over_end = &p->over;
	return p;
}

void agent_work_submit(struct agent_threads *p, struct agent_work *w)
{
	w->next = NULL;
	if (p->pending++ == 0)
		uv_ref((uv_handle_t *)&p->finished);
	uv_mutex_lock(&p->lock);
	*p->end = w;
	p->end = &w->next;
	if (++p->nwaiting > p->idle && p->threads < THREADS_KEPT)
		add_thread(p);
	uv_cond_signal(&p->wake);
	uv_mutex_unlock(&p->lock);
}

void agent_threads_tick(struct agent_threads *p)
{
	uv_mutex_lock(&p->lock);
	if (p->idle == 0 && p->count == p->seen && find_runnable(p))
		add_thread(p);
	p->seen = p->count;
	uv_mutex_unlock(&p->lock);
}

void agent_threads_close(struct agent_threads *p)
{
	p->closing = true;
	end_if_closing(p);
}

void agent_threads_free(struct agent_threads *p)
{
	bool started[THREADS_MAX];

	assert(p->pending == 0);
	uv_mutex_lock(&p->lock);
	p->ends = true;
	for (int i = 0; i < THREADS_MAX; i++)
		started[i] = p->slots[i].state != THREAD_NONE;
	uv_cond_broadcast(&p->wake);
	uv_mutex_unlock(&p->lock);
	for (int i = 0; i < THREADS_MAX; i++)
		if (started[i])
			uv_thread_join(&p->slots[i].id);
	uv_cond_destroy(&p->wake);
	uv_mutex_destroy(&p->lock);
	free(p);
}
