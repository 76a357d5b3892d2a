#include "supervisor/run/idle.h"
#include "supervisor/run/internal.h"
#include "supervisor/run/worker_request.h"

#include "ipc/start_message.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID_WIDTH ((int)ID_SIZE - 1)

struct idle_worker *idle_find(struct supervisor *s, const char *run)
{
	struct idle_worker *w = s->runs->idle.first;

	while (w && strcmp(w->run, run) != 0)
		w = w->next;
	return w;
}

static struct idle_worker *find_session(struct supervisor *s, const char *agent,
					const char *session)
{
	struct idle_worker *w = s->runs->idle.first;

	while (w && (strcmp(w->agent, agent) || strcmp(w->session, session)))
		w = w->next;
	return w;
}

int64_t idle_count_agent(struct supervisor *s, const char *agent)
{
	int64_t n = 0;

	for (struct idle_worker *w = s->runs->idle.first; w; w = w->next)
		n += !strcmp(w->agent, agent);
	return n;
}

struct processes idle_processes(const struct idle_worker *w)
{
	return (struct processes){
		.run = w->name,
		.cgroup = w->cgroup,
		.worker = w->pid,
		.start_ticks = w->start_ticks,
		.in_cgroup = w->in_cgroup,
	};
}

/* --- a finished run becomes an idle worker ------------------------------- */

static int put_row(const struct active_run *l, int64_t since, int64_t until,
		   struct err *e)
{
	struct idle_put_in row = {
		.started_for = l->started_for,
		.run = l->id,
		.agent = l->agent,
		.session = l->session,
		.config_digest = l->config_digest,
		.attempt = l->attempt,
		.token_hash = l->token_hash,
		.pid = l->pid,
		.start_ticks = l->start_ticks,
		.boot_id = l->sup->boot_id,
		.cgroup = l->cgroup,
		.idle_since = since,
		.expires_at = until,
	};

	if (txn_begin(&l->sup->txn, e))
		return -1;
	return sql_exec(l->sup->db, Q_IDLE_PUT, &row, e) < 0 ? -1 : 0;
}

static bool may_stay_idle(const struct active_run *l)
{
	const struct supervisor *s = l->sup;

	return l->idle_ms > 0 && l->config_digest[0] && l->pidfd >= 0 &&
	       l->pending_state == RUN_PENDING_SUCCEEDED && !s->stopping &&
	       s->config.run_idle_max > 0;
}

bool idle_keep(struct active_run *l)
{
	struct supervisor *s = l->sup;
	int64_t now = clock_now(), until = now + l->idle_ms;
	struct idle_worker_row row = {
		.started_for = l->started_for,
		.run = l->id,
		.agent = l->agent,
		.session = l->session,
		.config_digest = l->config_digest,
		.attempt = l->attempt,
		.token_hash = l->token_hash,
		.pid = l->pid,
		.start_ticks = l->start_ticks,
		.cgroup = l->cgroup,
		.idle_since = now,
		.expires_at = until,
		.works_in = l->works_in,
		.is_shared = l->is_shared,
	};
	struct idle_worker *w;
	struct err e;

	if (!may_stay_idle(l))
		return false;
	if (put_row(l, now, until, &e)) {
		log_error(LT("msg", "cannot record an idle worker"),
			  LT("run", l->id), LT("error", e.text));
		return false;
	}
	if (s->runs->idle.count >= s->config.run_idle_max)
		idle_evict_oldest(s, NULL);
	w = idle_new(s, &row, fcntl(l->pidfd, F_DUPFD_CLOEXEC, 3));
	w->in_cgroup = l->in_cgroup;
	w->waiting = l->waiting;
	w->is_waiting = l->is_waiting;
	w->last_command = l->last_command;
	l->kept_idle = true;
	return true;
}

/* --- a run takes an idle worker ------------------------------------------ */

/* Is a slot free for the run? If not, evicts an idle worker; its slot is free
 * when its processes have exited. */
static bool has_capacity(struct supervisor *s, const char *agent, int64_t limit)
{
	int64_t of_agent = active_run_count_agent(&s->runs->active, agent);

	if (of_agent + idle_count_agent(s, agent) >= limit) {
		idle_evict_oldest(s, agent);
		return false;
	}
	if (s->runs->active.count + s->runs->idle.count >= s->config.run_max) {
		idle_evict_oldest(s, NULL);
		return false;
	}
	return true;
}

int idle_find_worker(struct supervisor *s, const struct run_active_row *run,
		     const char *config_digest, int64_t agent_limit,
		     struct idle_worker **out)
{
	struct idle_worker *w = find_session(s, run->agent, run->session);

	if (!w)
		return has_capacity(s, run->agent, agent_limit) ? 0 : -1;
	if (w->evicting)
		return -1;
	if (strcmp(w->config_digest, config_digest) != 0) {
		idle_evict(w);
		return -1;
	}
	/* it has not connected again after a restart of skepd */
	if (!w->is_waiting) {
		if (!w->awaited)
			idle_set_alarm(w, s->config.run_start_timeout);
		w->awaited = true;
		return -1;
	}
	*out = w;
	return 1;
}

int idle_assign(struct idle_worker *w, struct active_run *l, struct err *e)
{
	struct sandbox_delete_in in = {w->run};

	snprintf(l->started_for, sizeof l->started_for, "%.*s", ID_WIDTH,
		 w->name);
	snprintf(l->cgroup, sizeof l->cgroup, "%.*s", ID_WIDTH, w->cgroup);
	l->in_cgroup = w->in_cgroup;
	active_run_watch_pid(l, w->pid, w->start_ticks,
			     fcntl(w->pidfd, F_DUPFD_CLOEXEC, 3));
	if (put_row(l, OPT_NONE, w->expires_at, e) ||
	    sql_exec(l->sup->db, Q_SANDBOX_DELETE, &in, e) < 0)
		return -1;
	record_worker_pid(l);
	l->waiting = w->waiting;
	l->is_waiting = w->is_waiting;
	l->last_command = w->last_command;
	l->reuses_worker = true;
	return 0;
}

/* The message is sent once. If that fails, the worker does not report as the
 * worker of this run, the start times out, and another worker is started. */
void idle_send_run(struct active_run *l)
{
	struct msg m = {.type = MSG_TYPE_NEXT};
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct err e;
	int rc = file_read_fd(l->start_fd, "the start message", &b, &e);

	close(l->start_fd);
	l->start_fd = -1;
	m.u.next.id = l->last_command + 1;
	m.u.next.start = b.p;
	l->is_waiting = false;
	if (rc == 0)
		rc = ipc_server_answer(l->sup->runs->ipc, l->waiting, &m, &e);
	if (rc)
		log_warn(LT("msg", "cannot send a run to an idle worker"),
			 LT("run", l->id), LT("error", e.text));
	buf_fini(&b);
}

int idle_end_run(struct active_run *l, struct err *e)
{
	struct idle_delete_in key = {l->started_for};

	if (l->kept_idle || !strcmp(l->started_for, l->id))
		return 0;
	return sql_exec(l->sup->db, Q_IDLE_DELETE, &key, e) < 0 ? -1 : 0;
}

void idle_adopt(struct active_run *l)
{
	struct idle_of_run_in key = {l->id};
	struct idle_worker_row row;
	struct arena a = {0};
	struct err e;

	if (sql_get(l->sup->db, Q_IDLE_OF_RUN, &key, &row, &a, &e) == 1) {
		snprintf(l->started_for, sizeof l->started_for, "%.*s",
			 ID_WIDTH, row.started_for);
		snprintf(l->cgroup, sizeof l->cgroup, "%.*s", ID_WIDTH,
			 row.cgroup ? row.cgroup : row.started_for);
		snprintf(l->config_digest, sizeof l->config_digest, "%s",
			 row.config_digest);
	}
	arena_fini(&a);
}

/* --- messages of idle workers -------------------------------------------- */

void idle_on_message(struct idle_worker *w, struct ipc_from from,
		     const struct msg *m)
{
	struct msg begin = {.type = MSG_TYPE_BEGIN,
			    .u.begin.supervisor = SKEP_VERSION};
	struct msg ack = {.type = MSG_TYPE_ACK, .u.ack.seq = OPT_NONE};
	struct err e;

	if (m->type == MSG_TYPE_READY) {
		w->waiting = from;
		w->is_waiting = true;
		w->last_command = m->u.ready.last;
		if (w->awaited)
			w->sup->runs->schedule = true;
		return;
	}
	if (m->type == MSG_TYPE_REQUEST) {
		worker_request_refuse(w->sup, from, m->u.request.id,
				      "the run has ended");
		return;
	}
	if (m->type == MSG_TYPE_HELLO)
		w->is_waiting = false;
	if (ipc_server_answer(w->sup->runs->ipc, from,
			      m->type == MSG_TYPE_HELLO ? &begin : &ack, &e))
		log_warn(LT("msg", "cannot answer an idle worker"),
			 LT("error", e.text));
}
