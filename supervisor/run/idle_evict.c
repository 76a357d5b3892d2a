#include "supervisor/run/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/os/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * The end of idle workers: SIGTERM to the worker, which ends its processes;
 * SIGKILL to all of them after the grace period; then exit verification, and
 * the row is deleted.
 */
#define RECHECK_MS      10
#define EVICT_WAIT_MS   2000 /* how long a command waits for it */
#define NS_PER_MS       1000000
#define GRACE_MARGIN_MS 1000 /* for the worker to unmount */

static void free_when_closed(uv_handle_t *h)
{
	struct idle_worker *w = h->data;

	if (--w->handles > 0)
		return;
	free(w->session);
	free(w->works_in);
	free(w);
}

void idle_drop(struct idle_worker *w)
{
	struct idle_worker **at = &w->sup->runs->idle.first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->sup->runs->idle.count--;
	uv_close((uv_handle_t *)&w->alarm, free_when_closed);
	if (w->has_poll)
		uv_close((uv_handle_t *)&w->poll, free_when_closed);
	if (w->pidfd >= 0)
		close(w->pidfd);
	w->pidfd = -1;
}

/* --- exit verification ------------------------------------------------- */

static void delete_rows(struct idle_worker *w)
{
	struct idle_delete_in key = {w->name};
	struct sandbox_delete_in in = {w->run};
	struct supervisor *s = w->sup;
	struct err e;

	if (txn_begin(&s->txn, &e) ||
	    sql_exec(s->db, Q_IDLE_DELETE, &key, &e) < 0 ||
	    sql_exec(s->db, Q_SANDBOX_DELETE, &in, &e) < 0)
		log_error(LT("msg", "cannot delete the row of an idle worker"),
			  LT("run", w->run), LT("error", e.text));
}

static void kill_all(struct idle_worker *w)
{
	struct processes t = idle_processes(w);

	processes_signal(&w->sup->roots, &t, SIGKILL);
	w->killed = true;
}

/* Checks that all processes have exited, and kills the rest. True: w was
 * freed. */
static bool verify_exit(struct idle_worker *w)
{
	struct processes t = idle_processes(w);
	struct supervisor *s = w->sup;

	if (processes_count(&s->roots, &t, NULL) > 0) {
		kill_all(w);
		w->exit_checks++;
		idle_set_alarm(w, w->exit_checks < 50
					  ? RECHECK_MS
					  : RECHECK_MS * RECHECK_MS);
		return false;
	}
	log_info(LT("msg", "idle worker ended"), LT("run", w->run),
		 LT("agent", w->agent));
	delete_rows(w);
	processes_remove_cgroup(&s->roots, w->cgroup);
	idle_drop(w);
	s->runs->schedule = s->host_changed = true;
	end_if_done(s);
	return true;
}

static void on_pidfd(uv_poll_t *h, int status, int events)
{
	struct idle_worker *w = h->data;

	(void)status;
	(void)events;
	uv_poll_stop(h);
	w->evicting = true;
	(void)verify_exit(w);
}

static void on_alarm(uv_timer_t *h)
{
	struct idle_worker *w = h->data;

	if (w->evicting)
		(void)verify_exit(w);
	else if (clock_now() >= w->expires_at || (w->awaited && !w->is_waiting))
		idle_evict(w);
	else
		idle_set_alarm(w, w->expires_at - clock_now());
}

void idle_set_alarm(struct idle_worker *w, int64_t ms)
{
	uv_timer_start(&w->alarm, (uv_timer_cb)on_alarm,
		       ms > 0 ? (uint64_t)ms : 0, 0);
}

/* --- eviction --------------------------------------------------------- */

void idle_evict(struct idle_worker *w)
{
	if (w->evicting)
		return;
	w->evicting = true;
	if (w->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, w->pidfd, SIGTERM, NULL, 0);
	idle_set_alarm(w, w->pidfd < 0
				  ? 0
				  : w->sup->config.run_grace + GRACE_MARGIN_MS);
}

void idle_evict_oldest(struct supervisor *s, const char *agent)
{
	struct idle_worker *w = s->runs->idle.first;

	while (w && (w->evicting || (agent && strcmp(w->agent, agent) != 0)))
		w = w->next;
	if (w)
		idle_evict(w);
}

void idle_evict_all(struct supervisor *s, const char *agent)
{
	for (struct idle_worker *w = s->runs->idle.first; w; w = w->next)
		if (!agent || !strcmp(w->agent, agent))
			idle_evict(w);
}

bool idle_evict_from(struct supervisor *s, const struct run_active_row *run)
{
	bool found = false;

	for (struct idle_worker *w = s->runs->idle.first; w; w = w->next)
		if (w->works_in && run->works_in &&
		    !(w->is_shared && run->is_shared) &&
		    !strcmp(w->agent, run->agent) &&
		    !strcmp(w->works_in, run->works_in) &&
		    strcmp(w->session, run->session) != 0) {
			idle_evict(w);
			found = true;
		}
	return found;
}

static bool idle_evict_now(struct supervisor *s, const char *agent)
{
	int64_t until = clock_mono_ns() + (int64_t)EVICT_WAIT_MS * NS_PER_MS;
	struct timespec nap = {.tv_nsec = NS_PER_MS};

	for (struct idle_worker *w = s->runs->idle.first; w; w = w->next)
		if (!strcmp(w->agent, agent)) {
			w->evicting = true;
			kill_all(w);
		}
	while (idle_count_agent(s, agent) > 0 && clock_mono_ns() < until) {
		struct idle_worker *w = s->runs->idle.first;

		while (strcmp(w->agent, agent) != 0)
			w = w->next;
		if (!verify_exit(w))
			(void)nanosleep(&nap, NULL);
	}
	return idle_count_agent(s, agent) == 0;
}

/* --- the table -------------------------------------------------------- */

static void watch_exit(struct idle_worker *w, int pidfd)
{
	w->pidfd = pidfd;
	if (pidfd < 0) {
		w->evicting = true;
		idle_set_alarm(w, 0);
		return;
	}
	uv_poll_init(&w->sup->loop, &w->poll, pidfd);
	w->poll.data = w;
	w->has_poll = true;
	w->handles++;
	uv_poll_start(&w->poll, UV_READABLE, on_pidfd);
	idle_set_alarm(w, w->expires_at - clock_now());
}

struct idle_worker *idle_new(struct supervisor *s,
			     const struct idle_worker_row *row, int pidfd)
{
	struct idle_worker *w = calloc(1, sizeof *w),
			   **at = &s->runs->idle.first;

	if (!w || !(w->session = strdup(row->session)) ||
	    (row->works_in && !(w->works_in = strdup(row->works_in))))
		abort();
	w->is_shared = row->is_shared;
	w->sup = s;
	snprintf(w->name, sizeof w->name, "%s", row->started_for);
	snprintf(w->cgroup, sizeof w->cgroup, "%s",
		 row->cgroup ? row->cgroup : row->started_for);
	snprintf(w->run, sizeof w->run, "%s", row->run);
	snprintf(w->agent, sizeof w->agent, "%s", row->agent);
	snprintf(w->config_digest, sizeof w->config_digest, "%s",
		 row->config_digest);
	snprintf(w->token_hash, sizeof w->token_hash, "%s", row->token_hash);
	w->attempt = row->attempt;
	w->pid = (pid_t)row->pid;
	w->start_ticks = row->start_ticks;
	w->since = row->idle_since;
	w->expires_at = row->expires_at;
	uv_timer_init(&s->loop, &w->alarm);
	w->alarm.data = w;
	w->handles = 1;
	while (*at)
		at = &(*at)->next;
	*at = w;
	s->runs->idle.count++;
	watch_exit(w, pidfd);
	return w;
}

/* A worker with an active run belongs to that run. The others are idle, or
 * their run ended while no skepd was running. */
static void adopt(struct supervisor *s, const struct idle_worker_row *row)
{
	bool same_boot = !strcmp(row->boot_id, s->boot_id);
	struct idle_worker *w;

	if (active_run_find(&s->runs->active, row->run))
		return;
	w = idle_new(s, row,
		     same_boot
			     ? process_pidfd((pid_t)row->pid, row->start_ticks)
			     : -1);
	w->in_cgroup = processes_have_cgroup(&s->roots, w->cgroup);
	log_info(LT("msg",
		    w->evicting
			    ? "idle worker exited while skepd was not running"
			    : "adopted an idle worker"),
		 LT("run", w->run), LI("pid", w->pid));
	if (row->idle_since == OPT_NONE || s->config.run_idle_max == 0)
		idle_evict(w);
}

int idle_recover(struct supervisor *s, struct err *e)
{
	struct idle_worker_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_IDLE_LIST, NULL, 1000000, &rows, &a, e);

	for (int i = 0; i < n; i++)
		adopt(s, &rows[i]);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

void idle_clear(struct supervisor *s)
{
	while (s->runs->idle.first)
		idle_drop(s->runs->idle.first);
}

bool runs_release_agent(struct supervisor *s, const char *agent)
{
	return active_run_count_agent(&s->runs->active, agent) == 0 &&
	       idle_evict_now(s, agent);
}
