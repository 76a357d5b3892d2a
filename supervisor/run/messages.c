#include "supervisor/run/budget.h"
#include "supervisor/run/internal.h"
#include "supervisor/run/run_message.h"
#include "supervisor/run/worker_request.h"

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/os/proc.h"

#include <string.h>

/*
 * Messages of workers. Each is checked against attempt and token of its run.
 * Messages that change rows are acknowledged after the commit. Hints change
 * only memory and are acknowledged at once, as is an end that is in the agent
 * file (finish.c). The worst that a worker can do with a message is to end its
 * own run.
 */
#define TURN_MESSAGES 256 /* handled in one turn of the loop */

/* --- answers ---------------------------------------------------------- */

static void answer_worker(struct supervisor *s, struct ipc_from to,
			  const struct msg *m)
{
	struct err e;

	if (ipc_server_answer(s->runs->ipc, to, m, &e))
		log_warn(LT("msg", "cannot answer a worker"),
			 LT("error", e.text));
}

static void refuse_worker(struct supervisor *s, struct ipc_from to,
			  const char *why)
{
	struct msg m = {.type = MSG_TYPE_REFUSE, .u.refuse.why = why};

	answer_worker(s, to, &m);
}

static void ack(struct supervisor *s, struct ipc_from to)
{
	struct msg m = {.type = MSG_TYPE_ACK, .u.ack.seq = OPT_NONE};

	answer_worker(s, to, &m);
}

struct deferred_answer {
	struct supervisor *sup;
	struct ipc_from to;
	bool begin;
};

/* After a failed commit the connection is dropped, and the worker sends the
 * message again. */
static void send_deferred_answer(void *arg, const struct err *failed)
{
	const struct deferred_answer *l = arg;
	struct msg begin = {.type = MSG_TYPE_BEGIN,
			    .u.begin.supervisor = SKEP_VERSION};

	if (failed)
		ipc_server_drop(l->sup->runs->ipc, l->to);
	else if (l->begin)
		answer_worker(l->sup, l->to, &begin);
	else
		ack(l->sup, l->to);
}

static void answer_after_commit(struct supervisor *s, struct ipc_from to,
				bool begin)
{
	struct deferred_answer *l = txn_alloc(&s->txn, sizeof *l);

	*l = (struct deferred_answer){s, to, begin};
	txn_on_commit(&s->txn, send_deferred_answer, l);
}

/* --- reports ---------------------------------------------------------- */

static int on_hello(struct active_run *l, struct ipc_from from,
		    const struct msg *m, struct err *e)
{
	struct transition_reason why = {.reason = run_reason_hello};
	struct ipc_peer peer;

	/* The pid comes from the kernel, not from the worker. */
	if (l->pid > 0 && !ipc_server_peer(l->sup->runs->ipc, from, &peer) &&
	    peer.pid != l->pid)
		return err_set(e, ERR_DENIED,
			       "another process (%d) used the token of %s",
			       (int)peer.pid, l->id);
	l->connected = true;
	l->is_waiting = false;
	active_run_set_phase(l, "running"); /* until the next heartbeat */
	if (l->state != RUN_STARTING) {
		send_hint(l->sup, &(struct hint){HINT_OUTBOX,
						 /* hints may have been lost */
						 .agent = l->agent});
		why.reason = l->reason;
		why.detail = l->detail;
	}
	(void)m;
	if (transition_apply(l, RUN_EV_HELLO, &why, e))
		return -1;
	if (l->state == RUN_RUNNING || l->state == RUN_PAUSED)
		active_run_set_alarm(l, l->heartbeat_ms);
	run_message_check(l); /* hints may have been lost */
	answer_after_commit(l->sup, from, true);
	return 0;
}

static int on_ready(struct active_run *l, struct ipc_from from,
		    const struct msg *m, struct err *e)
{
	(void)e;
	l->waiting = from;
	l->is_waiting = true;
	l->last_command = m->u.ready.last;
	effect_defer(l, RUN_EFFECT_COMMAND);
	return 0;
}

static int on_worker_event(struct active_run *l, struct ipc_from from,
			   const struct msg *m, struct err *e)
{
	(void)e;
	l->last_progress_ms = (int64_t)uv_now(&l->sup->loop);
	l->last_seq = m->u.event.seq;
	l->rev = m->u.event.rev;
	ack(l->sup, from);
	notify_run_watchers(l);
	return 0;
}

static int on_heartbeat(struct active_run *l, struct ipc_from from,
			const struct msg *m, struct err *e)
{
	(void)e;
	if (m->u.heartbeat.seq > l->last_seq) {
		l->last_seq = m->u.heartbeat.seq;
		l->last_progress_ms = (int64_t)uv_now(&l->sup->loop);
		notify_run_watchers(l);
	}
	if (!strcmp(m->u.heartbeat.phase, "waiting") ||
	    !strcmp(m->u.heartbeat.phase, "paused"))
		l->last_progress_ms = (int64_t)uv_now(&l->sup->loop);
	if (!strcmp(m->u.heartbeat.phase, "ending"))
		l->is_ending = true;
	active_run_set_phase(l, m->u.heartbeat.phase);
	ack(l->sup, from);
	return 0;
}

static int on_usage(struct active_run *l, struct ipc_from from,
		    const struct msg *m, struct err *e)
{
	struct run_set_usage_in in = {
		.id = l->id,
		.last_seq = l->last_seq,
		.input_tokens = m->u.usage.input_tokens,
		.output_tokens = m->u.usage.output_tokens,
		.cost_micros = m->u.usage.cost_micros,
	};

	if (txn_begin(&l->sup->txn, e) ||
	    sql_exec(l->sup->db, Q_RUN_SET_USAGE, &in, e) < 0 ||
	    budget_on_usage(l, &m->u.usage, e))
		return -1;
	answer_after_commit(l->sup, from, false);
	return 0;
}

static int on_outbox(struct active_run *l, struct ipc_from from,
		     const struct msg *m, struct err *e)
{
	(void)m;
	(void)e;
	send_hint(l->sup,
		  &(struct hint){.kind = HINT_OUTBOX, .agent = l->agent});
	ack(l->sup, from);
	return 0;
}

static int on_applied(struct active_run *l, struct ipc_from from,
		      const struct msg *m, struct err *e)
{
	struct command_done_in in = {
		.id = m->u.applied.id,
		.run = l->id,
		.refusal = m->u.applied.refusal,
		.now = clock_now(),
	};

	if (txn_begin(&l->sup->txn, e) ||
	    sql_exec(l->sup->db, Q_COMMAND_DONE, &in, e) < 0 ||
	    (!in.refusal && run_message_applied(l, in.id, e)))
		return -1;
	if (!strcmp(l->phase, "waiting"))
		active_run_set_phase(l, "running");
	answer_after_commit(l->sup, from, false);
	return 0;
}

static int on_approval(struct active_run *l, struct ipc_from from,
		       const struct msg *m, struct err *e)
{
	if (approval_on_request(l, &m->u.approval, e))
		return -1;
	active_run_set_phase(l, "waiting");
	answer_after_commit(l->sup, from, false);
	return 0;
}

static int on_finished(struct active_run *l, struct ipc_from from,
		       const struct msg *m, struct err *e)
{
	bool at_once;

	if (run_on_finished(l, &m->u.finished, &at_once, e))
		return -1;
	if (at_once)
		ack(l->sup, from);
	else
		answer_after_commit(l->sup, from, false);
	return 0;
}

static int on_request(struct active_run *l, struct ipc_from from,
		      const struct msg *m, struct err *e)
{
	return worker_request_handle(l, from, &m->u.request, e);
}

/* --- receiving -------------------------------------------------------- */

typedef int on_message(struct active_run *l, struct ipc_from from,
		       const struct msg *m, struct err *e);

static on_message *const handlers[MSG_TYPES] = {
	[MSG_TYPE_HELLO] = on_hello,        [MSG_TYPE_READY] = on_ready,
	[MSG_TYPE_EVENT] = on_worker_event, [MSG_TYPE_HEARTBEAT] = on_heartbeat,
	[MSG_TYPE_USAGE] = on_usage,        [MSG_TYPE_OUTBOX] = on_outbox,
	[MSG_TYPE_APPLIED] = on_applied,    [MSG_TYPE_APPROVAL] = on_approval,
	[MSG_TYPE_FINISHED] = on_finished,  [MSG_TYPE_REQUEST] = on_request,
};

static bool is_token(const char *token, const char *token_hash)
{
	char hash[HASH_HEX];

	hash_of(token, strlen(token), hash);
	return strcmp(hash, token_hash) == 0;
}

/* The active run of the sender, authenticated by its token, or NULL. */
static struct active_run *find_sender(struct supervisor *s,
				      const struct msg_who *who)
{
	struct active_run *l = active_run_find(&s->runs->active, who->run);

	return l && l->attempt == who->attempt &&
			       is_token(who->token, l->token_hash)
		       ? l
		       : NULL;
}

/* The same for an idle worker. */
static struct idle_worker *find_idle_sender(struct supervisor *s,
					    const struct msg_who *who)
{
	struct idle_worker *w = idle_find(s, who->run);

	return w && !w->evicting && w->attempt == who->attempt &&
			       is_token(who->token, w->token_hash)
		       ? w
		       : NULL;
}

static void handle_message(struct supervisor *s, struct ipc_from from,
			   const struct msg *m)
{
	struct active_run *l = find_sender(s, &m->u.who);
	struct idle_worker *w = l ? NULL : find_idle_sender(s, &m->u.who);
	struct err e;

	if (w) {
		idle_on_message(w, from, m);
		return;
	}
	if (!l) {
		refuse_worker(s, from, "unknown or finished attempt");
		return;
	}
	l->last_message_ms = (int64_t)uv_now(&s->loop);
	l->from = from;
	txn_try_begin(&s->txn);
	if (txn_try_end(&s->txn, handlers[m->type](l, from, m, &e), &e) == 0)
		return;
	log_warn(LT("msg", "message of a worker refused"), LT("run", l->id),
		 LT("type", msg_name(m->type)), LT("error", e.text));
	ipc_server_drop(s->runs->ipc, from);
}

static void on_readable(uv_poll_t *h, int status, int events)
{
	struct supervisor *s = h->data;
	struct arena a = {0};

	(void)status;
	(void)events;
	for (int i = 0; i < TURN_MESSAGES; i++) {
		struct ipc_from from;
		struct msg m;
		struct err e;
		int got;

		arena_reset(&a);
		got = ipc_server_receive(s->runs->ipc, &a, &from, &m, &e);
		if (got == 0)
			break;
		if (got < 0) {
			log_warn(LT("msg", "connection of a worker dropped"),
				 LT("error", e.text));
			ipc_server_drop(s->runs->ipc, from);
		} else {
			handle_message(s, from, &m);
		}
	}
	arena_fini(&a);
}

int messages_open(struct supervisor *s, struct err *e)
{
	struct home_path path = home_path(&s->home, HOME_IPC_SOCKET);

	if (ipc_server_open(&s->runs->ipc, path.text, e))
		return -1;
	uv_poll_init(&s->loop, &s->runs->ipc_poll, ipc_server_fd(s->runs->ipc));
	s->runs->ipc_poll.data = s;
	uv_poll_start(&s->runs->ipc_poll, UV_READABLE, on_readable);
	return 0;
}

void messages_close(struct supervisor *s)
{
	if (!s->runs->ipc)
		return;
	uv_close((uv_handle_t *)&s->runs->ipc_poll, NULL);
	ipc_server_close(s->runs->ipc);
	s->runs->ipc = NULL;
}
