#include "worker/run/run.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/os/process_tree.h"
#include "worker/driver/driver.h"
#include "worker/process/disk_limit.h"
#include "worker/workspace/workspace.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NS_PER_MS      1000000
#define INDEX_AFTER_MS 200 /* of waiting */

bool run_ending(struct run *r)
{
	return commands_ending(&r->commands);
}

void run_read_signals(struct run *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGTERM)
			commands_end(&r->commands, REASON_stopped,
				     "the worker got SIGTERM");
		else
			tree_reap(r->child, &r->child_status);
	}
	if (!run_ending(r) && r->workspace && workspace_is_lost(r->workspace))
		commands_end(&r->commands, REASON_mount_lost, WORKSPACE_LOST);
}

static void report_applied(struct run *r, int64_t id, const char *refusal)
{
	struct msg m = {.type = MSG_TYPE_APPLIED};
	struct err ignored; /* the row stays pending, and is sent again */

	m.u.applied.id = id;
	m.u.applied.refusal = refusal;
	(void)ipc_client_report(r->link, &m, &ignored);
}

static int set_paused(struct run *r, bool paused, struct err *e)
{
	int64_t now = clock_mono_ns();
	struct buf b = BUF_MAX(256);

	if (r->paused == paused)
		return 0;
	r->paused = paused;
	if (!r->driver->pauses_itself)
		tree_signal(paused ? SIGSTOP : SIGCONT);
	if (paused)
		r->paused_since = now;
	else if (r->deadline)
		r->deadline += now - r->paused_since;
	atomic_store(&r->phase, paused ? RUN_PAUSED : RUN_RUNNING);
	json_begin_object(&b);
	json_put_text(&b, "phase", paused ? "paused" : "running");
	json_end_object(&b);
	return transcript_add_body(&r->transcript, "status", &b, e);
}

/* Ends the body, and commits it under a key that makes a repetition harmless.
 * It is on disk before it is reported to the supervisor: a confirmed command is
 * not sent again, and a question is shown to a user. */
static int commit_texts(struct run *r, const char *type, const char *key,
			struct buf *body, struct err *e)
{
	struct event_new ev = {.type = type, .key = key, .parent = WRITER_LEAF};

	json_end_object(body);
	ev.body = body->p; /* which it may have moved */
	if (buf_ok(body, type, e))
		return -1;
	return transcript_add(&r->transcript, &ev, 1, NULL, e) ||
			       transcript_sync(&r->transcript, e)
		       ? -1
		       : 0;
}

static int take_message(struct run *r, const struct msg *m, struct err *e)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	char key[96];
	int rc;

	/* a message to the session is in the transcript once, whichever run
	 * gets it */
	if (m->u.message.message)
		snprintf(key, sizeof key, "message:%s", m->u.message.message);
	else
		snprintf(key, sizeof key, "command:%" PRId64, m->u.id);
	json_begin_object(&b);
	json_put_text(&b, "text", m->u.message.text);
	json_put_text(&b, "by", m->u.message.by);
	rc = commit_texts(r, "steer", key, &b, e);
	buf_fini(&b);
	if (rc == 0)
		r->driver->on_message(r, m);
	return rc;
}

static int take_answer(struct run *r, const struct msg *m, struct err *e)
{
	const struct msg_answer *a = &m->u.answer;
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	char key[256];
	int rc;

	snprintf(key, sizeof key, "answer:%s:%s", r->start->run, a->key);
	json_begin_object(&b);
	json_put_text(&b, "state", "answered");
	json_put_text(&b, "key", a->key);
	json_put_text(&b, "decision", a->decision);
	json_put_text(&b, "by", a->by);
	json_put_text(&b, "note", a->note);
	json_put_text(&b, "choice", a->choice);
	rc = commit_texts(r, "approval", key, &b, e);
	buf_fini(&b);
	if (rc)
		return -1;
	if (r->asking && strcmp(r->asking, a->key) == 0) {
		r->answered = true;
		r->allowed = strcmp(a->decision, "allow") == 0;
	} else if (r->driver->on_message) {
		r->driver->on_message(r, m);
	}
	return 0;
}

static int carry_out(struct run *r, const struct msg *m, struct err *e)
{
	struct err why;

	if (m->type == MSG_TYPE_RESULT) {
		request_result(r, &m->u.result);
		return 0;
	}
	if (m->type == MSG_TYPE_PAUSE || m->type == MSG_TYPE_RESUME) {
		if (set_paused(r, m->type == MSG_TYPE_PAUSE, e))
			return -1;
	} else if (m->type == MSG_TYPE_ANSWER) {
		if (take_answer(r, m, e))
			return -1;
	} else if (!r->driver->accepts || r->driver->accepts(r, &why)) {
		report_applied(r, m->u.id,
			       r->driver->accepts
				       ? why.text
				       : "this driver takes no messages");
		return 0;
	} else if (take_message(r, m, e)) {
		return -1;
	}
	report_applied(r, m->u.id, NULL);
	return 0;
}

static int attend(struct run *r, struct err *e)
{
	struct arena a = {0};
	struct msg m;
	int rc = 0;

	run_read_signals(r);
	commands_quiet(&r->commands);
	while (rc == 0 && !run_ending(r) && commands_next(&r->commands, &a, &m))
		rc = carry_out(r, &m, e);
	if (run_ending(r))
		run_set_ending(r);
	arena_fini(&a);
	return rc;
}

/* Nothing happens during a pause, while a user is asked, or while the run waits
 * for its child runs. */
static bool may_idle(struct run *r)
{
	int phase = atomic_load(&r->phase);

	return r->idle_timeout_ms == 0 || phase == RUN_PAUSED ||
	       phase == RUN_WAITING || r->requests.first;
}

static void check_deadlines(struct run *r)
{
	int64_t now = clock_mono_ns();

	disk_limit_check(r);
	if (r->deadline && !r->paused && now >= r->deadline)
		commands_end(&r->commands, REASON_run_timeout,
			     "the run's time is up");
	if (!may_idle(r) && now - atomic_load(&r->transcript.touched) >=
				    r->idle_timeout_ms * NS_PER_MS)
		commands_end(&r->commands, REASON_idle_timeout,
			     "nothing was committed for too long");
}

static int64_t until_deadline(struct run *r, int64_t ms)
{
	int64_t now = clock_mono_ns(), left;

	if (run_ending(r))
		return ms;
	ms = disk_limit_wait(r, ms);
	if (r->deadline && !r->paused) {
		left = (r->deadline - now) / NS_PER_MS + 1;
		ms = left < ms ? left : ms;
	}
	if (!may_idle(r)) {
		left = r->idle_timeout_ms -
		       (now - atomic_load(&r->transcript.touched)) / NS_PER_MS +
		       1;
		ms = left < ms ? left : ms;
	}
	return ms > 0 ? ms : 0;
}

/* Waits as poll does. A long wait is used to update the search index of the
 * session, one batch at a time; otherwise the first search would do all of that
 * while a user waits. */
static int poll_and_index(struct run *r, struct pollfd *fds, unsigned n,
			  int64_t ms)
{
	int64_t end = clock_mono_ns() + ms * NS_PER_MS;
	int rc = poll(fds, n, (int)(ms < INDEX_AFTER_MS ? ms : INDEX_AFTER_MS));

	while (rc == 0 && ms > INDEX_AFTER_MS &&
	       transcript_index(&r->transcript) > 0)
		rc = poll(fds, n, 0);
	ms = (end - clock_mono_ns()) / NS_PER_MS;
	if (rc == 0 && ms > 0)
		rc = poll(fds, n, (int)ms);
	return rc;
}

int run_poll(struct run *r, struct pollfd *fds, unsigned n, int64_t ms,
	     struct err *e)
{
	struct pollfd all[RUN_POLL_MAX + 3];

	assert(n <= RUN_POLL_MAX);
	if (n > 0)
		memcpy(all, fds, n * sizeof *fds);
	all[n] = (struct pollfd){.fd = r->commands.fd, .events = POLLIN};
	all[n + 1] = (struct pollfd){.fd = r->signals, .events = POLLIN};
	all[n + 2] = (struct pollfd){.fd = run_server_fd(r), .events = POLLIN};
	ms = until_deadline(r, ms < 60000 ? ms : 60000);
	if (poll_and_index(r, all, n + 3, ms) < 0 && errno != EINTR)
		return err_errno_set(e, "poll");
	if (n > 0)
		memcpy(fds, all, n * sizeof *fds);
	check_deadlines(r);
	if (all[n + 2].revents)
		run_server_poll(r);
	return all[n].revents || all[n + 1].revents ? attend(r, e) : 0;
}

static int ended(struct err *e)
{
	return err_set(e, ERR_CANCELED, "the run was asked to stop");
}

int run_wait(struct run *r, int64_t ms, struct err *e)
{
	int64_t left = ms * NS_PER_MS;

	for (;;) {
		int64_t since = clock_mono_ns();
		bool paused = r->paused;

		if (run_ending(r))
			return ended(e);
		if (!paused && left <= 0)
			return 0;
		if (run_poll(r, NULL, 0,
			     paused ? 60000
				    : (left + NS_PER_MS - 1) / NS_PER_MS,
			     e))
			return -1;
		if (!paused)
			left -= clock_mono_ns() - since;
	}
}

int run_question(struct run *r, const struct msg_approval *q, struct err *e)
{
	struct msg m = {.type = MSG_TYPE_APPROVAL, .u.approval = *q};
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	char key[256];
	int rc;

	snprintf(key, sizeof key, "question:%s:%s", r->start->run, q->key);
	json_begin_object(&b);
	json_put_text(&b, "state", "asked");
	json_put_text(&b, "key", q->key);
	json_put_text(&b, "title", q->title);
	json_put_raw(&b, "detail", q->detail);
	rc = commit_texts(r, "approval", key, &b, e);
	buf_fini(&b);
	return rc ? -1 : ipc_client_report(r->link, &m, e);
}

int run_ask(struct run *r, const struct msg_approval *q, struct err *e)
{
	int rc = run_question(r, q, e);

	r->asking = q->key;
	r->answered = false;
	if (!r->paused)
		atomic_store(&r->phase, RUN_WAITING);
	while (rc == 0 && !(r->answered && !r->paused)) {
		if (run_ending(r))
			rc = ended(e);
		else
			rc = run_poll(r, NULL, 0, 60000, e);
	}
	r->asking = NULL;
	atomic_store(&r->phase, RUN_RUNNING);
	return rc ? -1 : r->allowed;
}
