#include "supervisor/run/active.h"

#include "lib/base/mark.h"
#include "lib/base/text.h"
#include "lib/os/process.h"
#include "supervisor/run/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DETAIL_MAX 1024 /* as of the message `finished` */

static size_t bucket_of(const char *id)
{
	uint64_t h = 14695981039346656037u;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 1099511628211u;
	return (h ^ h >> 32) % ACTIVE_BUCKETS;
}

static void copy_bounded(char *out, size_t cap, const char *text)
{
	snprintf(out, cap, "%s", text ? text : "");
}

static void on_alarm(uv_timer_t *h)
{
	active_run_on_alarm(h->data);
}

void active_run_set_phase(struct active_run *l, const char *phase)
{
	copy_bounded(l->phase, sizeof l->phase, phase);
}

struct active_run *active_run_new(struct supervisor *s,
				  const struct run_active_row *row)
{
	struct active_run *l = calloc(1, sizeof *l);
	struct active_run **bucket =
		&s->runs->active.buckets[bucket_of(row->id)];

	if (!l || !(l->session = strdup(row->session)) ||
	    (row->works_in && !(l->works_in = strdup(row->works_in))))
		abort();
	l->sup = s;
	l->is_shared = row->is_shared;
	copy_bounded(l->id, sizeof l->id, row->id);
	copy_bounded(l->started_for, sizeof l->started_for, row->id);
	copy_bounded(l->agent, sizeof l->agent, row->agent);
	copy_bounded(l->token_hash, sizeof l->token_hash, row->token_hash);
	copy_bounded(l->cgroup, sizeof l->cgroup,
		     row->cgroup ? row->cgroup : row->id);
	active_run_set_phase(l, "starting");
	l->attempt = row->attempt;
	l->max_attempts = row->max_attempts;
	l->backoff_ms = row->backoff_ms;
	l->grace_ms = row->grace_ms;
	l->run_timeout_ms = row->run_timeout_ms;
	l->idle_timeout_ms = row->idle_timeout_ms;
	l->heartbeat_ms = row->heartbeat_ms;
	l->state = (enum run_state)run_state_from(row->state);
	l->pending_state = run_pending_from(row->pending_state);
	l->last_seq = row->last_seq;
	l->pidfd = l->start_fd = l->start_barrier = l->exit_status = -1;
	l->began_ms = l->last_message_ms = l->last_progress_ms = (int64_t)
		uv_now(&s->loop);
	uv_timer_init(&s->loop, &l->alarm);
	l->alarm.data = l;
	l->handles = 1;
	l->next = *bucket;
	*bucket = l;
	s->runs->active.count++;
	return l;
}

static void free_when_closed(struct active_run *l)
{
	if (--l->handles > 0 || !l->dropped)
		return;
	free(l->session);
	free(l->works_in);
	free(l->detail);
	free(l->limits);
	active_run_clear_report(l);
	free(l);
}

static void on_closed(uv_handle_t *h)
{
	free_when_closed(h->data);
}

void active_run_drop(struct active_run *l)
{
	struct active_run **at =
		&l->sup->runs->active.buckets[bucket_of(l->id)];

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->sup->runs->active.count--;
	l->dropped = true;
	watches_move_to_host(l);
	if (l->start_fd >= 0)
		close(l->start_fd);
	if (l->start_barrier >= 0)
		close(l->start_barrier);
	uv_close((uv_handle_t *)&l->alarm, on_closed);
	if (l->has_poll)
		uv_close((uv_handle_t *)&l->poll, on_closed);
	if (l->pidfd >= 0)
		close(l->pidfd);
}

struct active_run *active_run_find(struct active_runs *t, const char *id)
{
	struct active_run *l = t->buckets[bucket_of(id)];

	while (l && strcmp(l->id, id) != 0)
		l = l->next;
	return l;
}

void active_run_each(struct active_runs *t,
		     void (*fn)(struct active_run *l, void *arg), void *arg)
{
	for (size_t i = 0; i < ACTIVE_BUCKETS; i++)
		for (struct active_run *l = t->buckets[i], *next; l; l = next) {
			next = l->next;
			fn(l, arg);
		}
}

int64_t active_run_count_agent(struct active_runs *t, const char *agent)
{
	int64_t n = 0;

	for (size_t i = 0; i < ACTIVE_BUCKETS; i++)
		for (struct active_run *l = t->buckets[i]; l; l = l->next)
			n += !strcmp(l->agent, agent);
	return n;
}

struct active_run *active_run_in(struct active_runs *t, const char *agent,
				 const char *works_in, bool shared)
{
	for (size_t i = 0; i < ACTIVE_BUCKETS; i++)
		for (struct active_run *l = t->buckets[i]; l; l = l->next)
			if (l->works_in && !(shared && l->is_shared) &&
			    !strcmp(l->works_in, works_in) &&
			    !strcmp(l->agent, agent))
				return l;
	return NULL;
}

static void on_pidfd(uv_poll_t *h, int status, int events)
{
	struct active_run *l = h->data;

	(void)status;
	(void)events;
	uv_poll_stop(h);
	mark(MARK_worker_gone);
	l->exited = true;
	active_run_on_exit(l);
}

void active_run_watch_pid(struct active_run *l, pid_t pid, int64_t start_ticks,
			  int pidfd)
{
	l->pid = pid;
	l->start_ticks = start_ticks;
	if (l->pidfd >= 0) {
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	l->pidfd = pidfd >= 0 ? pidfd : process_pidfd(pid, start_ticks);
	if (l->pidfd < 0) {
		l->exited = true;
		return;
	}
	uv_poll_init(&l->sup->loop, &l->poll, l->pidfd);
	l->poll.data = l;
	l->has_poll = true;
	l->handles++;
	uv_poll_start(&l->poll, UV_READABLE, on_pidfd);
}

void active_run_set_alarm(struct active_run *l, int64_t ms)
{
	uv_timer_start(&l->alarm, (uv_timer_cb)on_alarm,
		       ms > 0 ? (uint64_t)ms : 0, 0);
}

void active_run_set_reason(struct active_run *l, const char *reason,
			   const char *detail)
{
	char more_text[DETAIL_MAX + 1], *more = NULL;

	if (detail && detail[0]) {
		text_fit(more_text, sizeof more_text, detail);
		more = strdup(more_text);
		if (!more)
			abort();
	}

	free(l->detail);
	l->detail = more;
	if (reason != l->reason)
		copy_bounded(l->reason, sizeof l->reason, reason);
}

struct processes active_run_processes(const struct active_run *l)
{
	return (struct processes){
		.run = l->started_for,
		.cgroup = l->cgroup,
		.worker = l->pid,
		.start_ticks = l->start_ticks,
		.in_cgroup = l->in_cgroup,
	};
}
