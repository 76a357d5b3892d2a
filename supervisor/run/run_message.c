#include "supervisor/run/run_message.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "schema/control/channel/mailbox.h"
#include "supervisor/run/worker_request.h"

#include <string.h>

#define OFFER_MAX   64                       /* in one transaction */
#define START_MAX   16                       /* messages in a start message */
#define START_BYTES (MESSAGE_MAX * 7 + 1024) /* of one of them */

bool agent_receives(const struct agent_row *agent, const cJSON *spec)
{
	return json_bool(spec, "receive",
			 strcmp(agent->driver, "acp") == 0 ||
				 strcmp(agent->driver, "chat") == 0);
}

static int offer_one(struct supervisor *s, const char *run,
		     const struct message_row *m, struct err *e)
{
	struct buf body = BUF_MAX(START_BYTES);
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "text", m->body);
	json_put_text(&body, "by", m->sender);
	json_put_text(&body, "message", m->id);
	json_end_object(&body);
	rc = command_add(s, run, "message", body.p, m->sender, e);
	buf_fini(&body);
	return rc;
}

int run_message_offer(struct supervisor *s, const struct run_address *to,
		      struct err *e)
{
	struct message_offered_in in = {to->agent, to->session, to->run,
					OFFER_MAX};
	struct message_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_MESSAGE_OFFERED, &in, OFFER_MAX, &rows, &a,
			    e);

	if (n > 0 && txn_begin(&s->txn, e))
		n = -1;
	for (int i = 0; i < n; i++)
		if (offer_one(s, to->run, &rows[i], e))
			n = -1; /* ends the loop */
	arena_fini(&a);
	return n;
}

static void add_pending(struct buf *b, const struct command_row *row)
{
	struct err ignored; /* written by offer_one or command_text */
	cJSON *body = json_parse_object("command", row->body, strlen(row->body),
					&ignored);

	json_begin_object(b);
	json_put_int(b, "id", row->id);
	json_put_text(b, "text", json_text(body, "text", ""));
	json_put_text(b, "by", json_text(body, "by", row->by));
	json_put_text(b, "message", json_text(body, "message", NULL));
	json_end_object(b);
	cJSON_Delete(body);
}

int run_message_pending(struct supervisor *s, const char *run, struct arena *a,
			const char **out, struct err *e)
{
	struct command_messages_in in = {run, START_MAX};
	struct buf b = BUF_MAX(START_BYTES + 1024), one = BUF_MAX(START_BYTES);
	struct command_row *rows;
	int n = sql_collect(s->db, Q_COMMAND_MESSAGES, &in, START_MAX, &rows, a,
			    e);

	json_begin_array(&b);
	for (int i = 0; i < n; i++) {
		buf_clear(&one);
		add_pending(&one, &rows[i]);
		if (one.over || b.n + one.n + 2 > START_BYTES)
			break; /* the rest follows while it runs */
		json_add_raw(&b, one.p);
	}
	json_end_array(&b);
	*out = n > 0 ? arena_text(a, b.p) : NULL;
	buf_fini(&b);
	buf_fini(&one);
	return n < 0 ? -1 : 0;
}

static bool receives(struct active_run *l)
{
	struct arena a = {0};
	struct agent_row agent;
	struct err ignored; /* the messages stay unread */
	cJSON *spec = NULL;
	bool yes = false;

	if (supervisor_agent_read(l->sup, l->agent, &agent, &a, &ignored) == 1)
		spec = json_parse_object("spec", agent.spec, strlen(agent.spec),
					 &ignored);
	if (spec)
		yes = agent_receives(&agent, spec);
	cJSON_Delete(spec);
	arena_fini(&a);
	return yes;
}

void run_message_check(struct active_run *l)
{
	struct run_address to = {l->id, l->agent, l->session};
	struct err e;
	int n;

	if ((l->state != RUN_RUNNING && l->state != RUN_PAUSED) || !receives(l))
		return;
	txn_try_begin(&l->sup->txn);
	n = run_message_offer(l->sup, &to, &e);
	if (n > 0)
		effect_defer(l, RUN_EFFECT_COMMAND);
	if (txn_try_end(&l->sup->txn, n < 0 ? -1 : 0, &e))
		log_error(LT("msg", "cannot pass messages to a run"),
			  LT("run", l->id), LT("error", e.text));
}

int run_message_applied(struct active_run *l, int64_t command, struct err *e)
{
	struct message_applied_in in = {l->agent, l->session, command, l->id,
					clock_now()};

	return sql_exec(l->sup->db, Q_MESSAGE_APPLIED, &in, e) < 0 ? -1 : 0;
}

static void check_one(struct active_run *l, void *arg)
{
	const struct hint *h = arg;

	if (!h->agent || (strcmp(h->agent, l->agent) == 0 &&
			  strcmp(h->session, l->session) == 0))
		run_message_check(l);
}

static void on_sent(struct supervisor *s, const struct hint *h)
{
	struct hint copy = *h;

	waiting_check(s);
	active_run_each(&s->runs->active, check_one, &copy);
}

void run_message_open(struct supervisor *s)
{
	on_hint(s, HINT_MAILBOX, on_sent);
}
