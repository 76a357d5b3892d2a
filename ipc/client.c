#include "ipc/client.h"

#include "ipc/client_internal.h"
#include "lib/base/clock.h"
#include "lib/os/thread.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define STACK_BYTES (512u << 10) /* cJSON recurses up to 1,000 levels */
#define QUEUE_MAX   256
#define OUT_MAX     (2u * MSG_MAX_BYTES)

void client_wake(struct ipc_client *c)
{
	uint64_t one = 1;

	(void)!write(c->wake, &one, sizeof one);
}

static int start_thread(struct ipc_client *c, struct err *e)
{
	int rc = thread_start(&c->thread, STACK_BYTES, ipc_link_run, c);

	if (rc == 0)
		return 0;
	errno = rc;
	return err_errno_set(e, "thread of the link to the supervisor");
}

static void drop_reports(struct ipc_client *c)
{
	while (c->queue) {
		struct report *next = c->queue->next;

		free(c->queue);
		c->queue = next;
	}
	c->queued = 0;
}

static void destroy(struct ipc_client *c)
{
	drop_reports(c);
	open_requests_drop(c);
	if (c->wake >= 0)
		close(c->wake);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->moved);
	buf_fini(&c->in);
	buf_fini(&c->out);
	arena_fini(&c->turn);
	arena_fini(&c->texts);
	free(c);
}

static void set_hello(struct ipc_client *c, const struct msg_hello *hello)
{
	arena_reset(&c->texts);
	c->config.hello = *hello;
	c->config.hello.run = arena_text(&c->texts, hello->run);
	c->config.hello.token = arena_text(&c->texts, hello->token);
	c->config.hello.build = arena_text(&c->texts, hello->build);
}

static void set_up_client(struct ipc_client *c,
			  const struct ipc_client_config *config)
{
	pthread_condattr_t mono;

	c->config = *config;
	c->config.path = NULL; /* c->address has a copy */
	set_hello(c, &config->hello);
	c->address.sun_family = AF_UNIX;
	memcpy(c->address.sun_path, config->path, strlen(config->path) + 1);
	c->last_command = config->last_command;
	c->fd = -1;
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	buf_init(&c->in, MSG_MAX_BYTES + 4096 + 64);
	buf_init(&c->out, OUT_MAX);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&c->moved, &mono);
	pthread_condattr_destroy(&mono);
}

int ipc_client_open(struct ipc_client **out,
		    const struct ipc_client_config *config, struct err *e)
{
	struct ipc_client *c;

	if (strlen(config->path) >= sizeof c->address.sun_path)
		return err_set(e, ERR_CONFIG, "socket path too long: %s",
			       config->path);
	c = calloc(1, sizeof *c);
	if (!c)
		abort();
	set_up_client(c, config);
	*out = c; /* before the thread, whose calls may use it */
	if (c->wake < 0)
		err_errno_set(e, "eventfd");
	if (c->wake < 0 || start_thread(c, e)) {
		*out = NULL;
		destroy(c);
		return -1;
	}
	return 0;
}

/* The thread is idle, so nothing that it uses is in use. */
void ipc_client_continue(struct ipc_client *c, const struct msg_hello *hello,
			 int64_t last_command)
{
	pthread_mutex_lock(&c->lock);
	while (!c->resting)
		pthread_cond_wait(&c->moved, &c->lock);
	drop_reports(c);
	open_requests_drop(c);
	set_hello(c, hello);
	c->last_command = last_command;
	c->resting = false;
	pthread_mutex_unlock(&c->lock);
	client_wake(c);
}

void ipc_client_close(struct ipc_client *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_mutex_unlock(&c->lock);
	client_wake(c);
	pthread_join(c->thread, NULL);
	destroy(c);
}

static struct report *report_new(enum msg_type type, const struct buf *json)
{
	struct report *r = malloc(sizeof *r + json->n);

	if (!r)
		abort();
	*r = (struct report){.type = type, .n = json->n};
	memcpy(r->json, json->p, json->n);
	return r;
}

/* Queues r, replacing the hint that it supersedes: returns 1 if the thread
 * already knows that a hint is queued. */
static int enqueue(struct ipc_client *c, struct report *r, struct err *e)
{
	struct report **at = &c->queue;

	for (; *at; at = &(*at)->next) {
		struct report *old = *at;

		if (msg_kind(r->type) != MSG_IS_HINT || old->type != r->type ||
		    old->sent)
			continue;
		r->next = old->next;
		*at = r;
		free(old);
		return 1;
	}
	if (c->queued >= QUEUE_MAX)
		return err_set(e, ERR_BUSY,
			       "%u messages are waiting for the supervisor",
			       QUEUE_MAX);
	*at = r;
	c->queued++;
	return 0;
}

int ipc_client_report(struct ipc_client *c, const struct msg *m, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct msg full = *m;
	struct report *r = NULL;
	int rc;

	assert(msg_kind(m->type) == MSG_IS_REPORT ||
	       msg_kind(m->type) == MSG_IS_HINT);
	full.u.who = (struct msg_who){c->config.hello.run,
				      c->config.hello.attempt,
				      c->config.hello.token};
	rc = msg_encode(&full, &b, e);
	if (rc == 0) {
		r = report_new(m->type, &b);
		pthread_mutex_lock(&c->lock);
		rc = enqueue(c, r, e);
		pthread_mutex_unlock(&c->lock);
		if (rc < 0)
			free(r);
		if (rc == 0)
			client_wake(c);
	}
	buf_fini(&b);
	return rc < 0 ? -1 : 0;
}

void ipc_client_heartbeat_in(struct ipc_client *c, int64_t ms)
{
	atomic_store(&c->beat_at, clock_mono_ns() + ms * NS_PER_MS);
	client_wake(c);
}

int ipc_client_flush(struct ipc_client *c, int64_t timeout_ms, struct err *e)
{
	int64_t until = clock_mono_ns() + timeout_ms * NS_PER_MS;
	struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
			      .tv_nsec = (long)(until % 1000000000)};
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	while (c->queue && rc == 0)
		rc = pthread_cond_timedwait(&c->moved, &c->lock, &at);
	rc = c->queue ? -1 : 0;
	pthread_mutex_unlock(&c->lock);
	return rc ? err_set(e, ERR_TIMEOUT, "the supervisor does not answer")
		  : 0;
}

bool ipc_client_connected(struct ipc_client *c)
{
	bool greeted;

	pthread_mutex_lock(&c->lock);
	greeted = c->greeted;
	pthread_mutex_unlock(&c->lock);
	return greeted;
}
