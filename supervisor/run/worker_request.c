#include "supervisor/run/worker_request.h"

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/channel/mailbox.h"
#include "supervisor/run/budget.h"

#include <string.h>

/* --- answers ---------------------------------------------------------- */

static void send_result(const struct worker_request *q, const struct msg *m)
{
	struct err e;

	if (ipc_server_answer(q->sup->runs->ipc, q->to, m, &e))
		log_warn(LT("msg", "cannot answer a request of a run"),
			 LT("run", q->run), LT("error", e.text));
}

void worker_request_answer(const struct worker_request *q, const char *body)
{
	struct msg m = {.type = MSG_TYPE_RESULT,
			.u.result = {.id = q->id, .body = body}};

	send_result(q, &m);
}

void worker_request_fail(const struct worker_request *q, const struct err *e)
{
	struct msg m = {.type = MSG_TYPE_RESULT,
			.u.result = {.id = q->id,
				     .code = err_name(e->code),
				     .error = e->text}};

	send_result(q, &m);
}

void worker_request_refuse(struct supervisor *s, struct ipc_from to, int64_t id,
			   const char *why)
{
	struct worker_request q = {.sup = s, .to = to, .id = id};
	struct err e;

	err_set(&e, ERR_CONFLICT, "%s", why);
	worker_request_fail(&q, &e);
}

struct worker_request *worker_request_keep(const struct worker_request *q)
{
	struct worker_request *kept = txn_alloc(&q->sup->txn, sizeof *kept);

	*kept = *q;
	return kept;
}

int worker_request_child(const struct worker_request *q, const char *id,
			 struct run_row *row, struct arena *a, struct err *e)
{
	struct run_get_in key = {id ? id : ""};
	int found = sql_get(q->sup->db, Q_RUN_GET, &key, row, a, e);

	if (found < 0)
		return -1;
	if (found == 0 || !row->parent || strcmp(row->parent, q->run) != 0)
		return err_set(e, ERR_NOTFOUND,
			       "this run has no child run '%s'",
			       quoted(key.id).text);
	return 0;
}

/* --- cancel and send -------------------------------------------------- */

static void answer_cancel(void *arg, const struct command_result *r)
{
	const struct worker_request *q = arg;
	struct buf b = BUF_MAX(1024);

	if (r->failed) {
		worker_request_fail(q, r->failed);
		return;
	}
	json_begin_object(&b);
	json_put_text(&b, "run", r->id.text);
	json_put_text(&b, "note", r->note);
	json_end_object(&b);
	worker_request_answer(q, b.p);
	buf_fini(&b);
}

static int child_cancel(const struct worker_request *q, const cJSON *args,
			struct err *e)
{
	struct completion done = {answer_cancel, worker_request_keep(q)};
	const char *why = json_text(args, "reason", NULL);
	struct arena a = {0};
	struct run_row row;
	char by[80];
	int rc = worker_request_child(q, json_text(args, "run", NULL), &row, &a,
				      e);

	text_printf(by, sizeof by, "run %s", q->run);
	if (rc == 0)
		rc = supervisor_cancel_run(q->sup, row.id, why, by, done, e);
	arena_fini(&a);
	return rc;
}

struct sent_message {
	struct worker_request request;
	struct id id;
};

static void answer_send(void *arg, const struct err *failed)
{
	const struct sent_message *m = arg;
	struct buf b = BUF_MAX(256);

	if (failed) {
		worker_request_fail(&m->request, failed);
		return;
	}
	json_begin_object(&b);
	json_put_text(&b, "message", m->id.text);
	json_end_object(&b);
	worker_request_answer(&m->request, b.p);
	buf_fini(&b);
	send_hint(m->request.sup, &(struct hint){.kind = HINT_MAILBOX});
}

/* A message to the session of the child run: it can be sent before the child
 * starts, and the child receives it as any other message. */
static int child_send(struct active_run *l, const struct worker_request *q,
		      const cJSON *args, struct err *e)
{
	struct sent_message *sent = txn_alloc(&q->sup->txn, sizeof *sent);
	struct arena a = {0};
	struct run_row row;
	int rc = worker_request_child(q, json_text(args, "run", NULL), &row, &a,
				      e);

	sent->request = *q;
	if (rc == 0 && run_row_is_over(&row))
		rc = err_set(e, ERR_CONFLICT, "the child run %s has ended",
			     row.id);
	if (rc == 0) {
		struct message_new m = {
			.source_key = arena_printf(&a, "child:%s:%s", q->run,
						   q->key),
			.sender = arena_printf(&a, "%s/%s", l->agent,
					       l->session),
			.agent = row.agent,
			.session = row.session,
			.body = json_text(args, "text", ""),
		};

		rc = txn_begin(&q->sup->txn, e) ||
				     message_send(q->sup->db, &m, &sent->id,
						  e) < 0
			     ? -1
			     : 0;
	}
	if (rc == 0)
		txn_on_commit(&q->sup->txn, answer_send, sent);
	arena_fini(&a);
	return rc;
}

/* --- dispatch --------------------------------------------------------- */

static int dispatch(struct active_run *l, const struct worker_request *q,
		    const char *verb, const cJSON *args, struct err *e)
{
	if (strcmp(verb, "start") == 0)
		return child_start(l, q, args, e);
	if (strcmp(verb, "list") == 0) {
		child_list(q);
		return 0;
	}
	if (strcmp(verb, "wait") == 0)
		return child_wait(q, args, e);
	if (strcmp(verb, "send") == 0)
		return child_send(l, q, args, e);
	if (strcmp(verb, "reserve") == 0)
		return budget_on_reserve(l, q, args, e);
	if (strcmp(verb, "cancel") == 0)
		return child_cancel(q, args, e);
	return run_receive(l, q, args, e);
}

int worker_request_handle(struct active_run *l, struct ipc_from from,
			  const struct msg_request *m, struct err *e)
{
	struct worker_request q = {.sup = l->sup, .to = from, .id = m->id};
	struct err why;
	cJSON *args = json_parse_object("the request", m->args, strlen(m->args),
					&why);
	int rc = args ? 0 : -1;

	(void)e; /* a refused request is an answer */
	memcpy(q.run, l->id, sizeof q.run);
	text_fit(q.key, sizeof q.key, m->key);
	if (rc == 0 && text_check_key("key", m->key, 128, &why))
		rc = -1;
	if (rc == 0) {
		txn_try_begin(&l->sup->txn);
		rc = txn_try_end(&l->sup->txn,
				 dispatch(l, &q, m->verb, args, &why), &why);
	}
	if (rc)
		worker_request_fail(&q, &why);
	cJSON_Delete(args);
	return 0;
}
