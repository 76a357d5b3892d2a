#include "supervisor/run/internal.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/os/proc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The end of runs: the escalation from a request to SIGKILL, and exit
 * verification. A run is over only when none of its processes is left.
 */
#define TERM_TO_KILL_MS 100
/* A worker that reports its end has ended its processes within the grace
 * period. It still has to write the end, possibly to a slow disk. */
#define END_MARGIN_MS 2000
#define SILENCE_BEATS 6 /* missed heartbeats before a worker is killed */
/* margin after the worker's own time-outs and exit */
#define BACKSTOP_MS 2000

static void describe_exit(int status, bool short_of_memory, char *out,
			  size_t cap)
{
	if (status == -1)
		snprintf(out, cap, "exit status unknown");
	else if (WIFSIGNALED(status))
		snprintf(out, cap, "signal %d (%s)%s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)),
			 short_of_memory ? ": killed because it exceeded its "
					   "memory limit (limits.memory)"
					 : "");
	else
		snprintf(out, cap, "exit code %d", WEXITSTATUS(status));
}

/* --- exit verification ------------------------------------------------- */

/* Checks again, at growing intervals. */
static void recheck_later(struct active_run *l)
{
	active_run_set_alarm(l, processes_recheck_ms(l->exit_checks++));
}

/* An attempt that never started does not count: the next attempt gets its
 * number. An attempt that ended with skepd or the host gets an additional
 * one. */
static void refund_attempt(struct active_run *l)
{
	struct run_uncount_in in = {l->id};
	bool never_started = worker_never_started(l, l->reason) ||
			     !strcmp(l->reason, "session_workspace");
	struct err e;

	if (!never_started && strcmp(l->reason, "stopped") != 0 &&
	    strcmp(l->reason, "supervisor_lost") != 0)
		return;
	if (txn_begin(&l->sup->txn, &e) ||
	    sql_exec(l->sup->db, never_started ? Q_RUN_UNCOUNT : Q_RUN_GRANT,
		     &in, &e) < 0)
		log_error(LT("msg", "cannot refund an attempt"),
			  LT("run", l->id), LT("error", e.text));
}

static void on_exit_verified(struct active_run *l)
{
	struct transition_reason why = {.reason = l->reason,
					.detail = l->detail};
	enum run_event event = run_gone_event(l->pending_state);

	if (event == RUN_EV_GONE_REQUEUED) {
		why.pending_state = RUN_PENDING_NONE;
		refund_attempt(l);
	}
	transition_must_apply(l, event, &why);
}

void exit_verify(struct active_run *l)
{
	struct processes t = active_run_processes(l);
	struct err e;

	if (l->state != RUN_ENDING)
		return;
	if (l->pid > 0 && !l->exited && l->stage != ESCALATE_KILL) {
		if (idle_keep(l)) {
			on_exit_verified(l);
			return;
		}
		/* It reported its end and exits on its own. */
		if (l->idle_ms > 0 && l->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, l->pidfd, SIGTERM, NULL,
				0);
		l->stage = ESCALATE_TERM;
		active_run_set_alarm(l, BACKSTOP_MS);
		return;
	}
	if (fault_point(FAULT_end_before_verification, &e)) {
		recheck_later(l);
		return;
	}
	if (processes_count(&l->sup->roots, &t, NULL) > 0) {
		processes_signal(&l->sup->roots, &t, SIGKILL);
		recheck_later(l);
		return;
	}
	if (!l->reconciled) {
		reconcile_begin(l);
		return;
	}
	uv_timer_stop(&l->alarm);
	on_exit_verified(l);
}

/* --- escalation --------------------------------------------------------- */

static void escalate(struct active_run *l)
{
	struct processes t = active_run_processes(l);

	if (l->stage == ESCALATE_REQUESTED && l->is_ending) {
		l->stage = ESCALATE_ENDING;
		active_run_set_alarm(l, END_MARGIN_MS);
		return;
	}
	if (l->stage == ESCALATE_REQUESTED || l->stage == ESCALATE_ENDING) {
		l->stage = ESCALATE_TERM;
		processes_signal(&l->sup->roots, &t, SIGTERM);
		active_run_set_alarm(l, TERM_TO_KILL_MS);
		return;
	}
	l->stage = ESCALATE_KILL;
	processes_signal(&l->sup->roots, &t, SIGKILL);
	recheck_later(l);
	if (l->pid == 0) /* a new spawner can no longer start it */
		spawn_restart(&l->sup->spawn);
}

/* Kills the processes of a worker that does not respond. */
static void kill_now(struct active_run *l, const char *reason)
{
	struct processes t = active_run_processes(l);

	l->stage = ESCALATE_KILL;
	processes_signal(&l->sup->roots, &t, SIGKILL);
	if (l->pid == 0)
		spawn_restart(&l->sup->spawn);
	transition_worker_gone(l, reason, NULL);
}

/*
 * A worker without timely heartbeats may have sent them nevertheless: if skepd
 * or the machine was stopped, they are still unread. So the worker is killed
 * only after skepd has read messages once more.
 */
static void kill_if_still_silent(struct active_run *l, const char *reason)
{
	if (l->suspect) {
		kill_now(l, reason);
		return;
	}
	l->suspect = true;
	active_run_set_alarm(l, l->heartbeat_ms);
}

/* The uv_now at which skepd enforces a time-out that the worker has not
 * enforced itself; OPT_NONE: no limit. */
static int64_t backstop(const struct active_run *l, int64_t since,
			int64_t limit)
{
	return limit == OPT_NONE ? OPT_NONE
				 : since + limit + l->grace_ms + BACKSTOP_MS;
}

static void check_deadlines(struct active_run *l)
{
	struct {
		int64_t at;
		const char *reason;
	} ends[] = {
		{backstop(l, l->began_ms, l->run_timeout_ms), "run_timeout"},
		{backstop(l, l->last_progress_ms, l->idle_timeout_ms),
		 "idle_timeout"},
	};
	int64_t now = (int64_t)uv_now(&l->sup->loop);
	int64_t next = l->last_message_ms + l->heartbeat_ms * SILENCE_BEATS;

	if (l->state == RUN_STARTING || now >= next) {
		kill_if_still_silent(l, l->state == RUN_STARTING
						? run_reason_start_timeout
						: run_reason_worker_silent);
		return;
	}
	l->suspect = false;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		struct transition_reason late = {
			.reason = ends[i].reason,
			.pending_state = RUN_PENDING_TIMED_OUT};

		if (ends[i].at == OPT_NONE)
			continue;
		if (now >= ends[i].at) {
			transition_must_apply(l, RUN_EV_TIMEOUT, &late);
			return;
		}
		if (ends[i].at < next)
			next = ends[i].at;
	}
	active_run_set_alarm(l, next - now);
}

/* Records the end that the worker reported. */
static void record_report(struct active_run *l)
{
	struct err e;

	if (l->report && run_finish(l, &e))
		log_error(LT("msg", "cannot record the end of a run"),
			  LT("run", l->id), LT("error", e.text));
}

void active_run_on_alarm(struct active_run *l)
{
	if (l->report) {
		record_report(l);
	} else if (l->state == RUN_ENDING) {
		if (!l->exited && l->pid > 0)
			l->stage = ESCALATE_KILL;
		if (!l->reconciling || reconcile_is_late(l))
			exit_verify(l);
	} else if (l->exited) {
		active_run_on_exit(l);
	} else if (l->state == RUN_STOPPING) {
		escalate(l);
	} else {
		check_deadlines(l);
	}
}

/* --- exits and reports of the spawner ----------------------------------- */

/* The spawner reports the exit status shortly after the pidfd signals the exit.
 * There is no status for adopted workers. */
#define STATUS_WAIT_MS 50

void active_run_on_exit(struct active_run *l)
{
	char how[128];
	bool oom;

	if (!run_state_lives(l->state))
		return; /* verified; it is dropped after the commit */
	record_report(l);
	if (l->state == RUN_ENDING) {
		exit_verify(l);
		return;
	}
	if (l->exit_status == -1 && !l->no_status) {
		l->no_status = true; /* wait only once */
		active_run_set_alarm(l, STATUS_WAIT_MS);
		return;
	}
	oom = cgroup_oom(&l->sup->roots.limits, l->cgroup) > 0;
	describe_exit(l->exit_status, oom, how, sizeof how);
	log_info(LT("msg", "worker exited before it reported its end"),
		 LT("run", l->id), LI("pid", l->pid), LT("how", how));
	transition_worker_gone(l, exit_reason_of(l), how);
}

/* A worker that has not connected may not have begun; the agent file shows
 * it. */
const char *exit_reason_of(const struct active_run *l)
{
	return l->state == RUN_STARTING ? run_reason_spawn_failed
					: run_reason_worker_died;
}

void record_worker_pid(struct active_run *l)
{
	struct run_set_worker_in in = {
		.id = l->id,
		.attempt = l->attempt,
		.pid = l->pid,
		.start_ticks = l->start_ticks,
		.boot_id = l->sup->boot_id,
		.cgroup = strcmp(l->cgroup, l->id) ? l->cgroup : NULL,
	};
	struct sandbox_set_pid_in sandbox = {l->id, l->pid, clock_now()};
	struct err e;

	if (txn_begin(&l->sup->txn, &e) ||
	    sql_exec(l->sup->db, Q_RUN_SET_WORKER, &in, &e) < 0 ||
	    sql_exec(l->sup->db, Q_SANDBOX_SET_PID, &sandbox, &e) < 0)
		log_error(LT("msg", "cannot record the pid of a worker"),
			  LT("run", l->id), LT("error", e.text));
}

static void note_exit(struct active_run *l, void *arg)
{
	const struct spawn_event *t = arg;

	if (l->pid != t->pid)
		return;
	l->exit_status = t->status;
	if (l->exited)
		active_run_on_exit(l);
}

void on_spawn_event(void *arg, const struct spawn_event *t, int pidfd)
{
	struct supervisor *s = arg;
	struct active_run *l = active_run_find(&s->runs->active, t->run);
	char why[128];

	if (t->kind == SPAWN_EXITED) {
		struct spawn_event copy = *t;

		if (!prefork_on_exit(s, t->pid))
			active_run_each(&s->runs->active, note_exit, &copy);
		return;
	}
	if (id_is(ID_PREFORK, t->run)) {
		prefork_on_spawn_event(s, t, pidfd);
		return;
	}
	if (!l || l->attempt != t->attempt) {
		/* The run has ended meanwhile. */
		if (pidfd >= 0) {
			syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
			close(pidfd);
		}
		return;
	}
	if (t->kind == SPAWN_FAILED) {
		snprintf(why, sizeof why, "%s", strerror(t->status));
		l->exited = true;
		transition_worker_gone(l, run_reason_spawn_failed, why);
		return;
	}
	l->in_cgroup = t->in_cgroup;
	active_run_watch_pid(l, t->pid, t->start_ticks, pidfd);
	record_worker_pid(l);
}

static void find_lost_worker(struct active_run *l, void *arg)
{
	struct supervisor *s = arg;
	struct proc_stat st;
	pid_t pid;

	if (l->pid != 0 || l->start_fd >= 0)
		return;
	pid = processes_find_worker(&s->roots, l->id);
	if (pid > 0 && !proc_stat(pid, &st)) {
		l->in_cgroup = processes_have_cgroup(&s->roots, l->cgroup);
		active_run_watch_pid(l, pid, st.start_ticks, -1);
		record_worker_pid(l);
	} else {
		transition_worker_gone(l, run_reason_spawn_failed,
				       "the spawner died");
	}
}

void on_spawner_lost(void *arg)
{
	struct supervisor *s = arg;

	s->roots.spawner = s->spawn.pid;
	prefork_drop(s);
	active_run_each(&s->runs->active, find_lost_worker, s);
}
