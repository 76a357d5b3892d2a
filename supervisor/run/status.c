#include "supervisor/run/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <unistd.h>

bool supervisor_run_activity(struct supervisor *s, const char *run,
			     struct run_activity *out)
{
	const struct active_run *l = active_run_find(&s->runs->active, run);
	int64_t ago;

	if (!l)
		return false;
	ago = (int64_t)uv_now(&s->loop) - l->last_message_ms;
	*out = (struct run_activity){
		.last_seq = l->last_seq,
		.rev = l->rev,
		.last_message_at = l->connected ? clock_now() - ago : 0,
		.phase = l->phase,
		.connected = l->connected,
		.exited = l->exited,
		.silent = ago > 3 * l->heartbeat_ms,
	};
	return true;
}

void supervisor_run_memory(struct supervisor *s, const char *run,
			   struct run_memory *out)
{
	const struct active_run *l = active_run_find(&s->runs->active, run);
	struct process_usage use = {0};
	struct processes t;

	*out = (struct run_memory){0};
	if (!l)
		return;
	t = active_run_processes(l);
	out->processes = processes_count(&s->roots, &t, &use);
	out->rss = use.rss;
}

bool supervisor_idle_worker(struct supervisor *s, int64_t n, bool memory,
			    struct idle_worker_info *out)
{
	const struct idle_worker *w = s->runs->idle.first;
	struct process_usage use = {0};
	struct processes t;

	while (w && n-- > 0)
		w = w->next;
	if (!w)
		return false;
	*out = (struct idle_worker_info){
		.run = w->run,
		.agent = w->agent,
		.session = w->session,
		.pid = w->pid,
		.since = w->since,
		.connected = w->is_waiting,
	};
	t = idle_processes(w);
	if (memory)
		out->memory.processes = processes_count(&s->roots, &t, &use);
	out->memory.rss = use.rss;
	return true;
}

static void count_connected(struct active_run *l, void *arg)
{
	*(int64_t *)arg += l->connected;
}

void supervisor_status_get(struct supervisor *s, struct supervisor_status *out)
{
	struct run_waiting_row row = {0};
	struct err e;

	*out = (struct supervisor_status){
		.pid = getpid(),
		.epoch = s->epoch,
		.started_at = s->started_at,
		.active = s->runs->active.count,
		.idle = s->runs->idle.count,
		.preforked = prefork_ready(s),
		.version = SKEP_VERSION,
		.stopping = s->stopping,
		.read_only = s->read_only,
		.listen = s->config.http_listen,
		.restarts = s->watchdog.restarts,
		.restarted_at = OPT_NONE,
	};
	if (s->read_only || sql_in_place(s->db, &out->lost) == 0)
		out->lost.text[0] = '\0';
	if (s->watchdog.restarts > 0) {
		out->restarted_at = s->watchdog.ended_at;
		out->restart_cause = s->watchdog.cause;
	}
	active_run_each(&s->runs->active, count_connected,
			&out->workers_connected);
	if (sql_get(s->db, Q_RUN_WAITING, NULL, &row, NULL, &e) < 0)
		log_error(LT("msg", "runs cannot be counted"),
			  LT("error", e.text));
	out->queued = row.queued + row.delayed - s->runs->active.count;
}
