#include "supervisor/run/internal.h"

#include "ipc/end_reason.h"
#include "ipc/mcp_socket.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/os/file.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/fence.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/writer.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * After a worker died without a report, the agent file decides how the attempt
 * ended. It is opened in a thread, since another run of the agent may hold the
 * write lock, and fenced (schema/agent/transcript/fence.h). If the file
 * contains the end of the attempt, that is the end. Otherwise open parts are
 * closed as aborted and, if the run is not retried, its end is written. No
 * process of the run is left, so nothing else writes for it.
 *
 * A run is retried only after its file was read, since it may have ended. If
 * the file cannot be read, the read is repeated, and finally the run fails. A
 * run that is not retried does not wait for its file.
 */
#define RECONCILE_MS    15000
#define RECONCILE_TRIES 10
#define RETRY_MS        1000

struct reconcile_job {
	struct agent_work work;
	struct supervisor *sup;
	char id[ID_SIZE];
	char agent[65];
	char *session;
	char *path;
	int64_t attempt, epoch;
	bool requeue;
	char status[16]; /* end to be written */
	char reason[64];
	struct run_ending found;
	bool began; /* the file contains the attempt, or may contain it */
	struct err err;
	int rc;
};

static int write_end(struct reconcile_job *j, struct agent_file *f,
		     struct err *e)
{
	struct writer_run who = {
		.run_id = j->id, .attempt = j->attempt, .epoch = j->epoch};
	struct event_new last = {.type = "run_finished", .parent = WRITER_LEAF};
	struct event_ref ref;
	struct writer w;
	struct buf body = BUF_MAX(1024);
	char key[96];
	int rc;

	if (writer_open(&w, f, j->session, &who, e) ||
	    part_abort_open(&w, j->reason, e) < 0)
		return -1;
	if (j->requeue)
		return run_abandon(f, j->id, j->reason, e);
	if (part_abort_awaiting(&w, j->reason, e) < 0)
		return -1;
	json_begin_object(&body);
	json_put_text(&body, "outcome", j->status);
	json_put_text(&body, "reason", j->reason);
	json_put_text(&body, "by", "skepd");
	json_end_object(&body);
	snprintf(key, sizeof key, "%s/%lld/end", j->id, (long long)j->attempt);
	last.body = body.p;
	last.key = key;
	rc = writer_end_run(&w, &last, j->status, j->reason, &ref, e);
	buf_fini(&body);
	return rc;
}

static int reconcile_open(struct reconcile_job *j, struct agent_file *f,
			  struct err *e)
{
	if (run_fence(f, j->id, j->attempt, &j->found, e))
		return -1;
	j->began = j->found.began;
	if (!j->found.began || j->found.ended)
		return 0;
	if (write_end(j, f, e))
		return -1;
	return run_last_seq(f, j->id, &j->found.last_seq, e);
}

static int reconcile_file(struct reconcile_job *j, struct err *e)
{
	struct agent_file f;
	int rc;

	if (!file_exists(j->path))
		return 0;
	j->began = true; /* until the file was read */
	if (fault_point(FAULT_reconcile_file, e) ||
	    agent_file_open(&f, j->path, j->agent, 0, e))
		return -1;
	rc = reconcile_open(j, &f, e);
	agent_file_close(&f);
	return rc;
}

static void remove_sockets(const char *path)
{
	char *dir = strdup(path);

	if (!dir)
		abort();
	ask_socket_remove_stale(dirname(dir));
	free(dir);
}

static void reconcile_in_thread(struct agent_work *w)
{
	struct reconcile_job *j = w->data;

	remove_sockets(j->path);
	j->rc = reconcile_file(j, &j->err);
}

/* The end in the file overrides the assumed one. */
static void apply_recorded_end(struct active_run *l,
			       const struct reconcile_job *j)
{
	enum run_pending_state recorded = run_pending_from(j->found.status);
	enum reason r = reason_from(j->found.reason);

	if (r == REASONS)
		return;
	if (recorded == RUN_PENDING_NONE || recorded == RUN_PENDING_FAILED)
		recorded = run_pending_failed(reason_is_retryable(r),
					      l->attempt, l->max_attempts);
	if (recorded == RUN_PENDING_SUCCEEDED ||
	    l->pending_state == RUN_PENDING_FAILED ||
	    l->pending_state == RUN_PENDING_QUEUED) {
		l->pending_state = recorded;
		active_run_set_reason(l, j->found.reason, NULL);
	}
}

/* Hints of the worker change only memory; the row gets the number here. */
static void record_last_seq(struct active_run *l, int64_t seq)
{
	struct run_set_last_seq_in in = {l->id, seq};
	struct err e;

	if (seq == 0)
		return;
	if (seq > l->last_seq)
		l->last_seq = seq;
	if (txn_begin(&l->sup->txn, &e) ||
	    sql_exec(l->sup->db, Q_RUN_SET_LAST_SEQ, &in, &e) < 0)
		log_error(LT("msg", "cannot record the last event of a run"),
			  LT("run", l->id), LT("error", e.text));
}

/* The worker was assumed not to have started, but the file contains its
 * attempt. So the attempt counts; if it was the last one, its end must be
 * written to the file. */
static void count_attempt(struct active_run *l)
{
	l->pending_state = run_pending_failed(true, l->attempt,
					      l->max_attempts);
	active_run_set_reason(l, run_reason_worker_died, l->detail);
	l->reconciled = l->pending_state == RUN_PENDING_QUEUED;
}

/* A run must not be retried before its file was read. */
static void retry_reconcile(struct active_run *l, const struct err *e)
{
	char why[sizeof e->text + 32];

	l->reconciled = false;
	if (++l->reconcile_tries < RECONCILE_TRIES) {
		active_run_set_alarm(l, RETRY_MS);
		return;
	}
	snprintf(why, sizeof why, "its file cannot be read: %s", e->text);
	l->pending_state = RUN_PENDING_FAILED;
	active_run_set_reason(l, l->reason, why);
	l->reconciled = true;
	exit_verify(l);
}

static void apply_result(struct active_run *l, const struct reconcile_job *j)
{
	l->reconciling = false;
	l->reconciled = true;
	if (j->rc && l->pending_state == RUN_PENDING_QUEUED) {
		retry_reconcile(l, &j->err);
		return;
	}
	record_last_seq(l, j->found.last_seq);
	if (j->found.ended)
		apply_recorded_end(l, j);
	else if (j->began && l->pending_state == RUN_PENDING_QUEUED &&
		 worker_never_started(l, l->reason))
		count_attempt(l);
	exit_verify(l);
}

static void reconcile_done(struct agent_work *w)
{
	struct reconcile_job *j = w->data;
	struct active_run *l = active_run_find(&j->sup->runs->active, j->id);

	if (j->rc)
		log_warn(LT("msg",
			    "cannot read the end of a run from the agent file"),
			 LT("run", j->id), LT("error", j->err.text));
	send_hint(j->sup, &(struct hint){HINT_OUTBOX,
					 /* it may have written outbox rows */
					 .agent = j->agent});
	if (l && l->reconciling && l->attempt == j->attempt)
		apply_result(l, j);
	free(j->session);
	free(j->path);
	free(j);
}

bool reconcile_is_late(struct active_run *l)
{
	log_warn(LT("msg", "reading the end of a run from the agent file takes "
			   "too long"),
		 LT("run", l->id), LT("agent", l->agent));
	if (l->pending_state == RUN_PENDING_QUEUED) {
		active_run_set_alarm(l, RECONCILE_MS);
		return false;
	}
	l->reconciling = false;
	l->reconciled = true;
	return true;
}

void reconcile_begin(struct active_run *l)
{
	struct agent_database_get_in key = {l->agent};
	struct agent_database_row row;
	struct reconcile_job *j = calloc(1, sizeof *j);
	struct arena a = {0};
	struct err e;

	if (!j)
		abort();
	if (l->reconciling || sql_get(l->sup->db, Q_AGENT_DATABASE_GET, &key,
				      &row, &a, &e) != 1) {
		free(j);
		if (!l->reconciling) {
			l->reconciled = true;
			exit_verify(l);
		}
		arena_fini(&a);
		return;
	}
	l->reconciling = true;
	j->sup = l->sup;
	j->work = (struct agent_work){.agent = j->agent,
				      .data = j,
				      .in_thread = reconcile_in_thread,
				      .done = reconcile_done};
	memcpy(j->id, l->id, sizeof j->id);
	memcpy(j->agent, l->agent, sizeof j->agent);
	j->session = strdup(l->session);
	j->path = strdup(row.path);
	j->attempt = l->attempt;
	j->epoch = row.epoch;
	j->requeue = l->pending_state == RUN_PENDING_QUEUED;
	if (!j->requeue)
		snprintf(j->status, sizeof j->status, "%s",
			 run_pending_name(l->pending_state));
	snprintf(j->reason, sizeof j->reason, "%s", l->reason);
	arena_fini(&a);
	active_run_set_alarm(l, RECONCILE_MS);
	agent_work_submit(l->sup->agent_threads, &j->work);
}
