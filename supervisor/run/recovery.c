#include "supervisor/run/internal.h"

#include "ipc/end_reason.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/os/proc.h"

#include <string.h>

/*
 * Reads the active runs from their rows: at start, and after a failed commit,
 * when memory may be ahead of the rows. A run whose worker is alive is adopted;
 * the end of the others is verified and reconciled.
 */
#define RETRY_MS 200

static void drop_run(struct active_run *l, void *arg)
{
	struct supervisor *s = arg;

	/* It connects again and repeats what was not acknowledged. */
	if (l->connected && s->runs->ipc)
		ipc_server_drop(s->runs->ipc, l->from);
	active_run_drop(l);
}

/* A worker was requested, but it was not recorded whether it started. */
static void find_unrecorded_worker(struct active_run *l)
{
	pid_t pid = processes_find_worker(&l->sup->roots, l->id);
	struct proc_stat st;

	if (pid <= 0 || proc_stat(pid, &st)) {
		l->exited = true;
		return;
	}
	active_run_watch_pid(l, pid, st.start_ticks, -1);
}

static void adopt(struct supervisor *s, const struct run_active_row *row)
{
	struct active_run *l = active_run_new(s, row);
	bool same_boot = row->boot_id && !strcmp(row->boot_id, s->boot_id);

	if (l->state != RUN_STARTING)
		active_run_set_phase(l,
				     "adopted"); /* until its worker connects */
	active_run_set_reason(l, row->reason, row->detail);
	l->no_status = true;
	idle_adopt(l);
	l->in_cgroup = processes_have_cgroup(&s->roots, l->cgroup);
	if (row->pid == OPT_NONE)
		find_unrecorded_worker(l);
	else if (same_boot)
		active_run_watch_pid(l, (pid_t)row->pid, row->start_ticks, -1);
	else
		l->exited = true;
	log_info(LT("msg", l->exited ? "worker of an active run is gone"
				     : "adopted a worker"),
		 LT("run", l->id), LT("state", run_state_name(l->state)),
		 LI("pid", l->pid));
	if (l->state == RUN_ENDING)
		effect_defer(l, RUN_EFFECT_VERIFY_EXIT);
	else if (l->exited)
		transition_worker_gone(l,
				       row->pid != OPT_NONE && !same_boot
					       ? run_reason_host_restarted
				       : row->pid == OPT_NONE
					       ? run_reason_spawn_failed
					       : exit_reason_of(l),
				       NULL);
	else if (l->state == RUN_STOPPING)
		effect_defer(l, RUN_EFFECT_ESCALATE);
	else
		active_run_set_alarm(l, l->state == RUN_STARTING
						? s->config.run_start_timeout
						: l->heartbeat_ms);
}

/* Removes cgroups that a killed supervisor left: those of runs that are not
 * active, if they are empty. Plugins handle those of channels. */
static void remove_unused_cgroup(void *arg, const char *name)
{
	struct supervisor *s = arg;

	if (!id_is(ID_PREFORK, name) && !id_is(ID_CHANNEL, name) &&
	    !active_run_find(&s->runs->active, name))
		processes_remove_cgroup(&s->roots, name);
}

static int read_active(struct supervisor *s, struct run_active_row **rows,
		       struct arena *a, struct err *e)
{
	if (fault_point(FAULT_recovery, e) || txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_RUN_UNBLOCK_ALL, NULL, e) < 0)
		return -1;
	return sql_collect(s->db, Q_RUN_ACTIVE, NULL, 1000000, rows, a, e);
}

static int adopt_all(struct supervisor *s, const struct run_active_row *rows,
		     int n, struct err *e)
{
	int rc;

	for (int i = 0; i < n; i++)
		adopt(s, &rows[i]);
	rc = idle_recover(s, e);
	if (rc == 0)
		processes_each_cgroup(&s->roots, remove_unused_cgroup, s);
	s->runs->schedule = s->runs->alarm_stale = true;
	return rc;
}

static void forget_all(struct supervisor *s)
{
	active_run_each(&s->runs->active, drop_run, s);
	idle_clear(s);
	/* After this no pending request can start a worker. */
	spawn_restart(&s->spawn);
}

/* Memory is kept until the rows have been read: while the database cannot be
 * used, and until the next try, a run can still be found. */
static int recover(struct supervisor *s, bool again, struct err *e)
{
	struct run_active_row *rows;
	struct arena a = {0};
	int rc = -1, n = read_active(s, &rows, &a, e);

	if (n >= 0 && again)
		forget_all(s);
	if (n >= 0)
		rc = adopt_all(s, rows, n, e);
	arena_fini(&a);
	return rc;
}

int recover_runs(struct supervisor *s, struct err *e)
{
	return recover(s, false, e);
}

static void on_retry(uv_timer_t *h)
{
	struct supervisor *s = h->data;
	struct err e;

	if (recover(s, true, &e)) {
		log_error(
			LT("msg", "cannot reload state after a failed commit"),
			LT("error", e.text));
		uv_timer_start(h, on_retry, RETRY_MS, 0);
		return;
	}
	/* A stop may have waited for runs that were not committed. */
	end_if_done(s);
}

void runs_reload(struct supervisor *s)
{
	uv_timer_start(&s->runs->retry, on_retry, RETRY_MS, 0);
}
