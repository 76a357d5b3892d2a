#include "supervisor/run/budget.h"
#include "supervisor/run/internal.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#include <string.h>

/*
 * Approvals. A request is committed before it is acknowledged to the worker. An
 * answer is a row and a command in one commit. So it is given once and reaches
 * the worker of this or a later attempt, whichever process dies.
 */
static int log_host(struct supervisor *s, const char *id, const char *agent,
		    const char *state, struct err *e)
{
	struct host_event_add_in in = {
		.kind = "approval", .subject = id, .agent = agent};

	return supervisor_log_event(s, &in, "state", state, e);
}

/* The command that carries the answer to the worker. */
static int send_answer(struct supervisor *s, const struct approval_row *row,
		       const struct supervisor_answer *answer, struct err *e)
{
	struct buf body = BUF_MAX(16384);
	struct command_add_in in = {
		.run = row->run,
		.verb = "answer",
		.by = answer->by,
		.now = clock_now(),
	};
	struct active_run *l = active_run_find(&s->runs->active, row->run);
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "key", row->key);
	json_put_text(&body, "decision", answer->allow ? "allow" : "deny");
	json_put_text(&body, "note", answer->note);
	json_put_text(&body, "choice", answer->choice);
	json_end_object(&body);
	in.body = body.p;
	rc = buf_ok(&body, "the note", e);
	if (rc == 0)
		rc = sql_exec(s->db, Q_COMMAND_ADD, &in, e) < 0 ? -1 : 0;
	buf_fini(&body);
	if (rc == 0 && l)
		effect_defer(l, RUN_EFFECT_COMMAND);
	return rc;
}

static bool is_allowed(const struct approval_row *row)
{
	return !strcmp(row->state, "allowed") ||
	       (!strcmp(row->state, "expired") &&
		!strcmp(row->fallback, "allow"));
}

static int add_approval(struct active_run *l, const struct msg_approval *m,
			struct err *e)
{
	struct id id = id_new(ID_APPROVAL);
	int64_t now = clock_now();
	struct approval_row row = {
		.id = id.text,
		.run = l->id,
		.agent = l->agent,
		.key = m->key,
		.title = m->title,
		.detail = m->detail,
		.state = "open",
		.fallback = m->fallback ? m->fallback : "deny",
		.expires_at = m->timeout_ms == OPT_NONE ? OPT_NONE
							: now + m->timeout_ms,
		.asked_at = now,
		.answered_at = OPT_NONE,
	};

	if (sql_exec(l->sup->db, Q_APPROVAL_ADD, &row, e) < 0)
		return -1;
	l->sup->runs->alarm_stale = true;
	return log_host(l->sup, id.text, l->agent, "open", e);
}

int approval_on_request(struct active_run *l, const struct msg_approval *m,
			struct err *e)
{
	struct approval_find_in key = {l->id, m->key};
	struct approval_row row;
	struct arena a = {0};
	int found;

	if (txn_begin(&l->sup->txn, e))
		return -1;
	found = sql_get(l->sup->db, Q_APPROVAL_FIND, &key, &row, &a, e);
	if (found == 0)
		found = add_approval(l, m, e);
	else if (found == 1 && strcmp(row.state, "open") != 0)
		/* A later attempt asks again; it has not received the
		 * answer. */
		found = send_answer(
			l->sup, &row,
			&(struct supervisor_answer){
				is_allowed(&row), row.note, row.choice,
				row.answered_by ? row.answered_by : "skepd"},
			e);
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

static int decide(struct supervisor *s, const struct approval_row *row,
		  const char *state, const struct supervisor_answer *answer,
		  struct err *e)
{
	struct approval_answer_in in = {
		.id = row->id,
		.state = state,
		.by = answer->by,
		.note = answer->note,
		.choice = answer->choice,
		.now = clock_now(),
	};
	int n = txn_begin(&s->txn, e)
			? -1
			: sql_exec(s->db, Q_APPROVAL_ANSWER, &in, e);

	if (n < 0)
		return -1;
	if (n == 0)
		return err_set(e, ERR_CONFLICT,
			       "the approval is already %s%s%s", row->state,
			       row->answered_by ? ", by " : "",
			       row->answered_by ? row->answered_by : "");
	if (log_host(s, row->id, row->agent, state, e))
		return -1;
	return send_answer(s, row, answer, e);
}

/* One answer about a budget is the answer to all runs that ask the same. */
static int decide_budget(struct supervisor *s, const struct approval_row *row,
			 const char *state,
			 const struct supervisor_answer *answer, struct err *e)
{
	struct approval_open_same_in key = {row->key, row->id};
	struct approval_row *rows;
	struct arena a = {0};
	int n = -1;

	if (budget_on_answer(s, row, answer->allow, e) == 0)
		n = sql_collect(s->db, Q_APPROVAL_OPEN_SAME, &key, 1000, &rows,
				&a, e);
	for (int i = 0; i < n; i++)
		if (decide(s, &rows[i], state, answer, e))
			n = -1;
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

int approvals_expire(struct supervisor *s)
{
	struct approval_due_in in = {clock_now()};
	struct approval_row *rows;
	struct arena a = {0};
	struct err e;
	int n = sql_collect(s->db, Q_APPROVAL_DUE, &in, 100, &rows, &a, &e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n; i++) {
		struct supervisor_answer answer = {
			.allow = !strcmp(rows[i].fallback, "allow"),
			.by = "skepd"};

		txn_try_begin(&s->txn);
		if (txn_try_end(&s->txn,
				decide(s, &rows[i], "expired", &answer, &e),
				&e))
			rc = -1;
	}
	if (rc)
		log_error(LT("msg", "cannot expire approvals"),
			  LT("error", e.text));
	arena_fini(&a);
	return rc;
}

/* Finds an option of the question by its id, or NULL. */
static const cJSON *find_option(const cJSON *detail, const char *id)
{
	const cJSON *o;

	cJSON_ArrayForEach(o,
			   cJSON_GetObjectItemCaseSensitive(detail, "options"))
	{
		if (strcmp(json_text(o, "optionId", ""), id) == 0)
			return o;
	}
	return NULL;
}

/* Options are in the detail of the question ("optionId"). If an option has a
 * "kind", it begins with allow or reject. */
static int check_choice(const struct approval_row *row,
			const struct supervisor_answer *answer, struct err *e)
{
	const char *text = row->detail ? row->detail : "{}", *kind;
	const cJSON *option;
	cJSON *detail;
	int rc = 0;

	if (!answer->choice)
		return 0;
	detail = json_parse("detail", text, strlen(text), e);
	if (!detail)
		return -1;
	option = find_option(detail, answer->choice);
	kind = json_text(option, "kind", "");
	if (!option)
		rc = err_set(e, ERR_INVALID,
			     "the question has no option %s; 'skep approval "
			     "show' lists the options",
			     quoted(answer->choice).text);
	else if (kind[0] && (strncmp(kind, "allow", 5) == 0) != answer->allow)
		rc = err_set(e, ERR_INVALID, "option %s means %s",
			     quoted(answer->choice).text,
			     answer->allow ? "deny" : "allow");
	cJSON_Delete(detail);
	return rc;
}

static int answer_approval(struct supervisor *s, const char *approval,
			   const struct supervisor_answer *answer,
			   struct completion done, struct err *e)
{
	const char *state = answer->allow ? "allowed" : "denied";
	struct approval_get_in key = {approval};
	struct approval_row row;
	struct arena a = {0};
	int rc;

	if (txn_begin(&s->txn, e))
		return -1;
	rc = sql_get(s->db, Q_APPROVAL_GET, &key, &row, &a, e);
	if (rc == 0)
		rc = err_set(e, ERR_NOTFOUND, "there is no approval %s",
			     approval);
	else if (rc == 1)
		rc = check_choice(&row, answer, e);
	if (rc == 0)
		rc = decide(s, &row, state, answer, e);
	if (rc == 0 && budget_is_key(row.key))
		rc = decide_budget(s, &row, state, answer, e);
	arena_fini(&a);
	if (rc)
		return -1;
	complete_later(s, done, approval, true, NULL);
	return 0;
}

int supervisor_answer(struct supervisor *s, const char *approval,
		      const struct supervisor_answer *answer,
		      struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn,
			   answer_approval(s, approval, answer, done, e), e);
}
