#include "supervisor/run/internal.h"

#include "lib/base/log.h"
#include "lib/base/mark.h"
#include "lib/json/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what follows a move, once it is committed ------------------------ */

struct act {
	struct supervisor *sup;
	char id[ID_SIZE];
	enum run_effect act;
};

/*
 * The worker is made while the commit is under way, and waits at a gate: until
 * that opens it has done nothing that anybody could see. If the commit fails, or
 * we die, the gate closes and it goes.
 */
void spawn_before_commit(struct active_run *l)
{
	struct spawn_send ask = {.attempt = l->attempt};
	int gate[2] = {-1, -1};

	if (pipe2(gate, O_CLOEXEC))
		return; /* then after the commit */
	snprintf(ask.run, sizeof ask.run, "%s", l->id);
	tree_cgroup(&l->sup->place, l->id, ask.cgroup);
	if (l->limits)
		memcpy(ask.limits, l->limits, sizeof ask.limits);
	free(l->limits);
	l->limits = NULL;
	spawn_send(&l->sup->spawn, &ask, (int[]){l->start_fd, gate[0]}, 2);
	l->start_fd = -1;
	l->gate = gate[1];
}

/* The worker exits without having done anything. */
static void close_gate(struct active_run *l)
{
	if (l->gate >= 0)
		close(l->gate);
	l->gate = -1;
}

static void let_worker_begin(struct active_run *l)
{
	if (l->handed)
		idle_send_run(l);
	else if (l->gate < 0)
		spawn_before_commit(l);
	if (l->gate >= 0) {
		(void)!write(l->gate, "", 1);
		mark(MARK_gate_open);
		close_gate(l);
	}
	active_run_set_alarm(l, l->sup->config.run_start_timeout);
}

#define REPORT_MARGIN_MS 50 /* for the report of a worker that ends */

static void command_deliver(struct active_run *l);

static void begin_escalation(struct active_run *l)
{
	l->stage = ESCALATE_ASKED;
	l->asked_ms = (int64_t)uv_now(&l->sup->loop);
	command_deliver(l);
	l->is_ending = strcmp(l->phase, "ending") == 0;
	active_run_set_alarm(l, l->grace_ms + REPORT_MARGIN_MS);
}

static void release_run(struct active_run *l)
{
	struct supervisor *s = l->sup;

	if (!l->gave_tree_away)
		tree_forget(&s->place, l->cgroup);
	active_run_drop(l);
	s->runs->schedule = s->runs->alarm_stale = true;
	end_if_done(s);
}

static void do_act(void *arg, const struct err *failed)
{
	const struct act *act = arg;
	struct active_run *l = active_run_find(&act->sup->runs->active,
					       act->id);

	if (failed && l && act->act == RUN_EFFECT_SPAWN)
		close_gate(l);
	if (failed || !l)
		return;
	notify_run_watchers(l);
	switch (act->act) {
	case RUN_EFFECT_SPAWN:
		let_worker_begin(l);
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
	case RUN_ACT_COUNT:
		break;
	}
}

void effect_apply(struct active_run *l, enum run_effect act)
{
	struct act *a = txn_alloc(&l->sup->txn, sizeof *a);

	a->sup = l->sup;
	a->act = act;
	memcpy(a->id, l->id, sizeof a->id);
	l->sup->host_changed = true;
	txn_on_commit(&l->sup->txn, do_act, a);
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
		log_error(LT("msg", "a command cannot be given"),
			  LT("run", l->id), LT("error", e.text));
	arena_fini(&a);
}
