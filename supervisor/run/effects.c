#include "supervisor/run/internal.h"

#include "lib/base/log.h"
#include "lib/base/mark.h"
#include "lib/json/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- effects, after the commit ----------------------------------------- */

struct deferred_effect {
	struct supervisor *sup;
	char id[ID_SIZE];
	enum run_effect effect;
};

/*
 * The worker is spawned while the commit is in progress, and waits at the start
 * barrier; until then it has no visible effect. If the commit fails, or skepd
 * dies, the barrier closes and the worker exits.
 */
void spawn_before_commit(struct active_run *l)
{
	struct spawn_request req = {.attempt = l->attempt};
	int barrier[2] = {-1, -1};

	if (pipe2(barrier, O_CLOEXEC))
		return; /* try again after the commit */
	snprintf(req.run, sizeof req.run, "%s", l->id);
	processes_cgroup(&l->sup->roots, l->id, req.cgroup);
	if (l->limits)
		memcpy(req.limits, l->limits, sizeof req.limits);
	free(l->limits);
	l->limits = NULL;
	spawn_send(&l->sup->spawn, &req, (int[]){l->start_fd, barrier[0]}, 2);
	l->start_fd = -1;
	l->start_barrier = barrier[1];
}

/* Without a byte in the barrier the worker exits and has done nothing. */
static void close_start_barrier(struct active_run *l)
{
	if (l->start_barrier >= 0)
		close(l->start_barrier);
	l->start_barrier = -1;
}

static void begin_attempt(struct active_run *l)
{
	if (l->reuses_worker)
		idle_send_run(l);
	else if (l->start_barrier < 0)
		spawn_before_commit(l);
	if (l->start_barrier >= 0) {
		(void)!write(l->start_barrier, "", 1);
		mark(MARK_barrier_open);
		close_start_barrier(l);
	}
	active_run_set_alarm(l, l->sup->config.run_start_timeout);
}

#define REPORT_MARGIN_MS 50 /* for the report of a worker that is ending */

static void command_deliver(struct active_run *l);

static void begin_escalation(struct active_run *l)
{
	l->stage = ESCALATE_REQUESTED;
	l->end_requested_ms = (int64_t)uv_now(&l->sup->loop);
	command_deliver(l);
	l->is_ending = strcmp(l->phase, "ending") == 0;
	active_run_set_alarm(l, l->grace_ms + REPORT_MARGIN_MS);
}

static void release_run(struct active_run *l)
{
	struct supervisor *s = l->sup;

	if (!l->kept_idle)
		processes_remove_cgroup(&s->roots, l->cgroup);
	active_run_drop(l);
	s->runs->schedule = s->runs->alarm_stale = true;
	end_if_done(s);
}

static void apply_effect(void *arg, const struct err *failed)
{
	const struct deferred_effect *effect = arg;
	struct active_run *l = active_run_find(&effect->sup->runs->active,
					       effect->id);

	if (failed && l && effect->effect == RUN_EFFECT_SPAWN)
		close_start_barrier(l);
	if (failed || !l)
		return;
	notify_run_watchers(l);
	switch (effect->effect) {
	case RUN_EFFECT_SPAWN:
		begin_attempt(l);
		break;
	case RUN_EFFECT_COMMAND:
		command_deliver(l);
		break;
	case RUN_EFFECT_ESCALATE:
		begin_escalation(l);
		break;
	case RUN_EFFECT_VERIFY_EXIT:
		exit_verify(l);
		break;
	case RUN_EFFECT_RELEASE:
		release_run(l);
		break;
	case RUN_EFFECT_NOTHING:
	case RUN_EFFECT_COUNT:
		break;
	}
}

void effect_defer(struct active_run *l, enum run_effect effect)
{
	struct deferred_effect *a = txn_alloc(&l->sup->txn, sizeof *a);

	a->sup = l->sup;
	a->effect = effect;
	memcpy(a->id, l->id, sizeof a->id);
	l->sup->host_changed = true;
	txn_on_commit(&l->sup->txn, apply_effect, a);
}

/* --- commands --------------------------------------------------------- */

static int command_msg(const struct active_run *l, const struct command_row *c,
		       const cJSON *body, struct msg *m)
{
	const char *text = json_text(body, "text", "");
	const char *by = json_text(body, "by", c->by);

	*m = (struct msg){0};
	if (!strcmp(c->verb, "cancel")) {
		m->type = MSG_TYPE_CANCEL;
		m->u.cancel.reason = json_text(body, "reason", "cancelled");
		m->u.cancel.grace_ms = l->grace_ms;
	} else if (!strcmp(c->verb, "answer")) {
		m->type = MSG_TYPE_ANSWER;
		m->u.answer.key = json_text(body, "key", "");
		m->u.answer.decision = json_text(body, "decision", "deny");
		m->u.answer.by = by;
		m->u.answer.note = json_text(body, "note", NULL);
		m->u.answer.choice = json_text(body, "choice", NULL);
	} else if (!strcmp(c->verb, "message")) {
		m->type = MSG_TYPE_MESSAGE;
		m->u.message.text = text;
		m->u.message.by = by;
		m->u.message.message = json_text(body, "message", NULL);
	} else if (!strcmp(c->verb, "stop")) {
		m->type = MSG_TYPE_STOP;
		m->u.stop.reason = json_text(body, "reason", "stopped");
	} else {
		m->type = !strcmp(c->verb, "pause") ? MSG_TYPE_PAUSE
						    : MSG_TYPE_RESUME;
	}
	m->u.id = c->id;
	return 0;
}

static void command_deliver(struct active_run *l)
{
	struct command_next_in key = {l->id, l->last_command};
	struct supervisor *s = l->sup;
	struct command_row row;
	struct arena a = {0};
	struct msg m;
	struct err e;
	cJSON *body;
	int found;

	if (!l->is_waiting)
		return;
	found = sql_get(s->db, Q_COMMAND_NEXT, &key, &row, &a, &e);
	if (found == 1) {
		body = json_parse_object("command", row.body, strlen(row.body),
					 &e);
		command_msg(l, &row, body, &m);
		l->is_waiting = false;
		l->last_command = row.id;
		if (ipc_server_answer(s->runs->ipc, l->waiting, &m, &e))
			found = -1;
		cJSON_Delete(body);
	}
	if (found < 0)
		log_error(LT("msg", "cannot send a command to a worker"),
			  LT("run", l->id), LT("error", e.text));
	arena_fini(&a);
}
