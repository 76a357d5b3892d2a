#include "worker/run/attempt.h"

#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/base/mark.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/process_tree.h"
#include "lib/sandbox/namespaces.h"
#include "schema/agent/gc.h"
#include "schema/agent/transcript/part.h"
#include "worker/driver/driver.h"
#include "worker/process/confine.h"
#include "worker/process/oom.h"
#include "worker/run/budget.h"
#include "worker/run/diagnose.h"
#include "worker/run/idle.h"
#include "worker/run/outputs.h"
#include "worker/run/prefault.h"
#include "worker/run/reply.h"
#include "worker/run/turn.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_MS      3000 /* for the last report, with a supervisor */
#define FLUSH_AWAY_MS 500  /* and without one: the row will be found */
#define GC_AGE_MS     600000
#define GC_RUNS       16 /* between two calls of gc for an agent */
#define GC_MAX        1024

/* Creates our own session and process group; only the log is inherited. */
static int detach_process(struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_errno_set(e, "/dev/null");
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return err_errno_set(e, "/dev/null");
	if (null > 2)
		close(null);
	(void)setsid(); /* fails only if we are the leader already */
	return tree_own(e);
}

/* First the agent's system prompt, if the session does not have it, and the
 * user's message, once for all attempts; then run_started. */
static int commit_start(struct run *r, struct err *e)
{
	const struct msg_start *s = r->start;
	struct buf prompt = BUF_MAX(EVENT_BODY_MAX), begun = BUF_MAX(4096);
	struct event_new ev[2] = {
		{.type = "message", .parent = WRITER_LEAF},
		{.type = "run_started", .parent = WRITER_LEAF},
	};
	int rc;

	json_begin_object(&prompt);
	json_put_text(&prompt, "role", "user");
	json_put_text(&prompt, "content", s->prompt);
	json_end_object(&prompt);
	json_begin_object(&begun);
	json_put_text(&begun, "run", s->run);
	json_put_int(&begun, "attempt", s->attempt);
	json_put_text(&begun, "driver", s->driver);
	json_put_int(&begun, "pid", getpid());
	json_end_object(&begun);
	ev[0].body = prompt.p;
	ev[0].key = s->prompt_key
			    ? s->prompt_key
			    : arena_printf(&r->arena, "prompt:%s", s->run);
	ev[1].body = begun.p;
	rc = buf_ok(&prompt, "prompt", e);
	if (rc == 0 && s->system && s->system[0])
		rc = transcript_system(&r->transcript, s->system, e);
	if (rc == 0)
		rc = transcript_add(&r->transcript, ev, 2, NULL, e);
	buf_fini(&prompt);
	buf_fini(&begun);
	return rc;
}

static enum reason reason_of(const struct err *e)
{
	switch ((int)e->code) {
	case ERR_STALE:
		return REASON_stale;
	case ERR_VERSION:
		return REASON_schema_version;
	case ERR_INVALID:
	case ERR_USAGE:
		return REASON_bad_config;
	case ERR_NOTALLOWED:
		return REASON_sandbox;
	case ERR_UNSUPPORTED:
		return REASON_workspace;
	case ERR_IO:
	case ERR_FULL:
	case ERR_BUSY:
	case ERR_CORRUPT:
	case ERR_READONLY:
	case ERR_NOTFOUND:
	case ERR_DENIED:
		return REASON_database;
	default:
		return REASON_driver_error;
	}
}

static void set_end(struct run_end *end, enum reason reason, const char *detail)
{
	end->reason = reason;
	text_fit(end->detail, sizeof end->detail, detail);
}

/* 1: a budget ends the run before it begins. */
static int reserve_start(struct run *r, struct run_end *end, struct err *e)
{
	char detail[BUDGET_DETAIL] = "";
	int rc = run_reserve(r, &(struct budget_call){0}, detail, e);

	if (rc == 1)
		set_end(end, REASON_budget, detail);
	return rc;
}

static int drive(struct run *r, struct run_end *end, struct err *e)
{
	int rc;

	r->driver = driver_find(r->start->driver, e);
	if (!r->driver)
		return -1;
	if (run_ending(r))
		return err_set(e, ERR_CANCELED, "it never started");
	if (confine_run(r, e))
		return -1;
	commands_guard(&r->commands, r->transcript.file.db);
	atomic_store(&r->phase, RUN_RUNNING);
	rc = reserve_start(r, end, e);
	if (rc == 0)
		rc = r->driver->run(r, end, e);
	commands_guard(&r->commands, NULL);
	return rc < 0 ? -1 : 0;
}

/* No side effects yet, so exit without reporting. */
static void wait_at_start_barrier(int *barrier)
{
	char go;

	if (*barrier < 0)
		return;
	while (read(*barrier, &go, 1) != 1)
		if (errno != EINTR)
			_exit(0);
	close(*barrier);
	*barrier = -1;
}

/* Uses the prepared sandbox of a preforked worker, or drops it. A reused worker
 * has its sandbox. */
static void begin_sandbox(struct run *r)
{
	struct err ignored; /* drive() reports it */
	const struct driver *d = driver_find(r->start->driver, &ignored);

	if (r->workspace)
		return;
	if (d && d->commands)
		tree_has_init(namespaces_prepared());
	else
		namespaces_unprepare();
	if (d && d->plain_box)
		confine_begin(r);
}

/* Opens the file and runs the driver, until there is an end. */
static void drive_run(struct run *r, int barrier, struct run_end *end)
{
	struct err e = {0};
	int rc = fault_point(FAULT_worker_before_open, &e);

	if (rc == 0 && r->start->has_children == 1)
		rc = run_server_open(r, &e);
	begin_sandbox(r);
	if (r->start->schema_version == 0) /* the file would be created */
		wait_at_start_barrier(&barrier);
	if (rc == 0)
		rc = transcript_open(&r->transcript, r->start, r->link, &e);
	mark(MARK_file_open);
	wait_at_start_barrier(&barrier);
	mark(MARK_barrier_passed);
	if (rc == 0)
		rc = transcript_begin(&r->transcript, r->start, &e);
	if (rc == 0)
		rc = commit_start(r, &e);
	mark(MARK_start_committed);
	if (rc == 0)
		diagnose_begin(r);
	if (rc == 0)
		rc = fault_point(FAULT_worker_started, &e);
	if (rc == 0)
		rc = drive(r, end, &e);
	if (rc && r->transcript.writer.other_workspace)
		set_end(end, REASON_session_workspace,
			r->transcript.writer.workspace);
	else if (rc)
		set_end(end, reason_of(&e), e.text);
}

/* Whether the driver alone decided the end. */
static bool is_own(const struct run_end *end)
{
	const char *outcome = reason_outcome(end->reason);

	return end->reason != REASON_memory &&
	       (!strcmp(outcome, "failed") || !strcmp(outcome, "succeeded"));
}

/* A requested end overrides the result of the driver unless the driver had
 * already completed. All processes must have exited, or the run has not
 * ended. */
static int decide_end(struct run *r, struct run_end *end, struct err *e)
{
	int64_t grace = r->start->grace_ms;
	char why[COMMANDS_WHY];

	run_set_ending(r);
	if (run_ending(r) && end->reason != REASON_completed) {
		set_end(end, commands_reason(&r->commands, why, &grace), why);
		end->exit_code = end->signal = OPT_NONE;
	}
	oom_classify(r, end);
	if (r->workspace && workspace_is_lost(r->workspace) && is_own(end))
		set_end(end, REASON_mount_lost, WORKSPACE_LOST);
	if (run_ending(r) || end->reason != REASON_completed ||
	    r->start->is_ephemeral == 1)
		r->idle_ms = 0;
	if (r->idle_ms == 0 && r->reuse)
		r->driver->release(r);
	return tree_end(run_ending(r) ? 0 : grace, r->child, &r->child_status,
			e);
}

static int commit_end(struct run *r, const struct run_end *end, struct err *e)
{
	struct event_new ev = {.parent = WRITER_LEAF};
	struct buf b = BUF_MAX(8192);
	int rc;

	ev.type = end->reason == REASON_cancelled ? "cancelled"
						  : "run_finished";
	json_begin_object(&b);
	json_put_text(&b, "run", r->start->run);
	json_put_int(&b, "attempt", r->start->attempt);
	json_put_text(&b, "outcome", reason_outcome(end->reason));
	json_put_text(&b, "reason", reason_code(end->reason));
	json_put_text(&b, "detail", end->detail[0] ? end->detail : NULL);
	json_put_opt(&b, "exit_code", end->exit_code);
	json_put_opt(&b, "signal", end->signal);
	json_end_object(&b);
	ev.body = b.p;
	rc = reply_make(r, end, &ev, e);
	if (rc == 0 && end->reason != REASON_completed)
		rc = part_abort_rest(&r->transcript.writer, r->transcript.first,
				     reason_code(end->reason), e);
	if (rc == 0)
		rc = fault_point(FAULT_worker_before_end, e);
	if (rc == 0)
		rc = transcript_end(&r->transcript, &ev, end->reason, e);
	if (rc == 0)
		rc = fault_point(FAULT_worker_ended, e);
	buf_fini(&b);
	return rc;
}

static void report_end(struct run *r, const struct run_end *end)
{
	struct msg m = {.type = MSG_TYPE_FINISHED};
	struct err e;

	m.u.finished = (struct msg_finished){
		.outcome = reason_outcome(end->reason),
		.reason = reason_code(end->reason),
		.detail = end->detail[0] ? end->detail : NULL,
		.seq = atomic_load(&r->transcript.seq),
		.exit_code = end->exit_code,
		.signal = end->signal,
		.idle_ms = r->idle_ms > 0 ? r->idle_ms : OPT_NONE,
	};
	(void)ipc_client_report(r->link, &m, &e);
}

/* Waits until the supervisor has acknowledged the end. */
static void await_acknowledgement(struct run *r)
{
	struct err ignored; /* the supervisor finds the row */

	(void)ipc_client_flush(r->link,
			       ipc_client_connected(r->link) ? FLUSH_MS
							     : FLUSH_AWAY_MS,
			       &ignored);
}

/* Ends the processes, stores the outputs of the run, and closes the workspace,
 * in this order; or keeps them for the session's next run. */
static int clean_up_run(struct run *r, struct run_end *end, struct err *e)
{
	struct err why;
	int rc = decide_end(r, end, e);

	if (rc == 0 && r->transcript.open && !turn_ends_with_run(r))
		rc = turn_end(r, e);
	if (rc == 0 && outputs_collect(r, end, &why))
		set_end(end, reason_of(&why), why.text);
	if (r->idle_ms > 0 && rc == 0 && end->reason == REASON_completed)
		return 0;
	if (idle_end(r, r->start->grace_ms, &why) && rc == 0) {
		*e = why;
		rc = -1;
	}
	confine_kill(r);
	return rc;
}

/* The end is committed before it is reported. If it cannot be, the report and
 * the exit status state that. */
static int end_attempt(struct run *r, struct run_end *end)
{
	struct err e = {0};
	int rc = clean_up_run(r, end, &e);

	if (rc)
		set_end(end, REASON_internal, e.text);
	else if (end->reason == REASON_session_workspace)
		r->idle_ms = 0; /* the run wrote nothing: no end to commit */
	else if (!r->transcript.open)
		rc = err_set(&e, ERR_IO, "%s", end->detail);
	else if (end->reason != REASON_stale && end->reason != REASON_refused)
		rc = commit_end(r, end, &e);
	mark(MARK_end_committed);
	if (rc && r->transcript.open)
		set_end(end, reason_of(&e), e.text);
	if (rc) {
		log_error(LT("msg", "the end was not committed"),
			  LT("run", r->start->run), LT("why", e.text));
		r->idle_ms = 0;
	}
	report_end(r, end);
	return rc ? err_exit_status(e.code) : 0;
}

/* Collects garbage in the agent file. A failure does not affect the run. */
static void gc_some(struct run *r)
{
	struct transcript *j = &r->transcript;
	struct gc_result freed;
	struct err e;

	if (j->open && j->writer.run % GC_RUNS == 0 &&
	    agent_gc(&j->file, GC_AGE_MS, GC_MAX, &freed, &e))
		log_warn(LT("msg", "gc"), LT("why", e.text));
}

static int attempt(struct run *r, int barrier)
{
	struct run_end end = {.exit_code = OPT_NONE, .signal = OPT_NONE};
	struct err ignored;
	int status;

	set_end(&end, REASON_internal, "");
	drive_run(r, barrier, &end);
	status = end_attempt(r, &end);
	diagnose_end(r, &end);
	gc_some(r);
	log_info(LT("msg", "attempt ended"), LT("run", r->start->run),
		 LI("attempt", r->start->attempt),
		 LT("reason", reason_code(end.reason)), LI("status", status));
	if (r->idle_ms == 0) { /* while the supervisor commits */
		run_server_close(r);
		transcript_leave(&r->transcript);
		confine_end(r);
		mark(MARK_closed);
	}
	await_acknowledgement(r);
	mark(MARK_end_acknowledged);
	(void)fault_point(FAULT_worker_exiting, &ignored);
	return status;
}

/* The kernel frees memory, descriptors and the IPC thread faster than we could.
 * A build with leak detection frees them. */
static void exit_at_once(int status)
{
#ifndef SKEP_FAULTS
	_exit(status);
#else
	(void)status;
#endif
}

/* The run for which it was started, and the next ones. */
static int attempts(const struct msg_start *start, int barrier, struct err *e)
{
	struct err ignored; /* the supervisor handles the rest */
	struct run r;
	int status;

	if (run_open(&r, start, e))
		return err_exit_status(e->code);
	do {
		status = attempt(&r, barrier);
		barrier = -1;
	} while (idle_wait(&r));
	if (r.reuse)
		(void)idle_end(&r, r.start->grace_ms, &ignored);
	else if (!r.sandbox)
		exit_at_once(status);
	run_close(&r);
	return status;
}

/* Executes the program that has the driver; the message is passed again, since
 * it may have come from a pipe. Returns only if that fails. */
static int become(const char *driver, const struct msg_start *start,
		  struct err *e)
{
	char path[PATH_MAX], *argv[] = {path, NULL};
	size_t n;
	int fd;

	if (workspace_program(path, e))
		return -1;
	n = strlen(path);
	if ((size_t)snprintf(path + n, sizeof path - n, "-%s", driver) >=
	    sizeof path - n)
		return err_set(e, ERR_IO, "a path is too long");
	fd = start_to_fd(start, e);
	if (fd < 0)
		return -1;
	if (dup2(fd, START_FD) == START_FD)
		execv(path, argv);
	return err_errno_set(e, "%s", path);
}

/* A preforked worker without a run has done nothing, so it exits without
 * reporting. */
static int await_start(int fd, bool gated, struct arena *a,
		       struct msg_start *start, struct err *e)
{
	struct stat st;

	if (gated && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
		namespaces_prepare(); /* first: it forks */
		prefault();
	}
	if (start_from_fd(fd, a, start, e) == 0)
		return 0;
	if (gated && e->code == ERR_CANCELED)
		_exit(0);
	return -1;
}

int worker_main(int start_fd, int barrier_fd, worker_named *named)
{
	struct msg_start start = {0};
	struct arena a = {0};
	struct err e = {0};
	int status;

	log_setup("skep-worker", LOG_LEVEL_WARN, -1);
	mallopt(M_ARENA_MAX, 1); /* the IPC thread needs no stack of its own
				  * size */
	(void)await_start(start_fd, barrier_fd >= 0, &a, &start, &e);
	mark(MARK_message_read);
	if (e.code == ERR_OK && named)
		named(start.run);
	if (e.code == ERR_OK && driver_program(start.driver)) {
		namespaces_unprepare();
		wait_at_start_barrier(&barrier_fd);
		(void)become(driver_program(start.driver), &start, &e);
	}
	if (e.code != ERR_OK || detach_process(&e))
		status = err_exit_status(e.code);
	else
		status = attempts(&start, barrier_fd, &e);
	if (e.code != ERR_OK)
		log_error(LT("msg", "the worker cannot start"),
			  LT("why", e.text));
	arena_fini(&a);
	return status;
}
