/*
 * Chats of the AI SDK. A message starts a run in the session whose key is the
 * id of the chat; the answer is the UI message stream of that run. A client that
 * reconnects gets the stream of the active run from its first frame, or 204. It
 * reads older messages from /v1/sessions/…/messages. When the run asks the user,
 * the stream ends; the client sends the answers in the assistant message, and
 * the stream of that request continues.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "supervisor/api/ai_request.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/ai_frames.h"
#include "supervisor/api/stream/stream.h"
#include "supervisor/core/supervisor.h"

#define GRACE_MS 20000 /* how long an ended run can still be replayed */

/* q->id is the run, q->key the session, q->filter[0] the agent. With a cursor
 * in q->from the stream continues there, after q->limit new answers. */
static int start_stream(struct api_request *q, struct buf *out, struct err *e)
{
	struct ai_stream_request want = {
		.agent = q->filter[0],
		.session = q->key,
		.run = q->id,
		.after = q->from,
		.answers = q->from ? q->limit : 0,
	};

	(void)out;
	if (ai_stream_subscribe(q->api, &want, q->reply, e))
		return -1;
	q->reply = NULL;
	return 0;
}

/* Resumes the stream of the active run, or of one that has just ended; else
 * 204. */
static int resume(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_filter in = {.agent = q->filter[0],
				.before = "~",
				.session = q->key,
				.count = 1};
	struct run_ids_session_row last = {0};
	struct run_queue_state_row queue = {0};
	struct sql *db = supervisor_db(q->api->sup);
	struct run_row row = {0};

	if (sql_get(db, Q_RUN_QUEUE_STATE,
		    &(struct run_queue_state_in){q->filter[0], q->key}, &queue,
		    &q->arena, e) < 0 ||
	    sql_get(db, Q_RUN_IDS_SESSION, &in, &last, &q->arena, e) < 0 ||
	    (last.id && sql_get(db, Q_RUN_GET, &last, &row, &q->arena, e) < 0))
		return -1;
	q->id = queue.next;
	if (!q->id && row.id && row.ended_at != OPT_NONE &&
	    row.ended_at + GRACE_MS > clock_now())
		q->id = row.id;
	if (q->id)
		return start_stream(q, out, e);
	http_reply_empty(q->reply, 204);
	q->reply = NULL;
	return 0;
}

void route_ai_resume(struct api_request *q)
{
	q->filter[0] = request_param(q, "agent");
	q->key = request_param(q, "id");
	request_read(q, resume);
}

/* --- answers ---------------------------------------------------------- */

#define ANSWERS_MAX 64

struct answers {
	int n;
	struct {
		const char *id; /* of the approval */
		struct supervisor_answer as;
	} one[ANSWERS_MAX];
};

static bool is_answer(const cJSON *part)
{
	return strcmp(json_text(part, "state", ""), "approval-responded") == 0;
}

static bool has_answers(const cJSON *message)
{
	const cJSON *p;

	cJSON_ArrayForEach(p,
			   cJSON_GetObjectItemCaseSensitive(message, "parts"))
	{
		if (is_answer(p))
			return true;
	}
	return false;
}

/* An approval that was answered before is skipped; the stream contains its
 * answer. */
static int read_answer(struct api_request *q, const cJSON *part,
		       struct answers *all, struct err *e)
{
	const cJSON *approval = cJSON_GetObjectItemCaseSensitive(part,
								 "approval");
	const cJSON *yes = cJSON_GetObjectItemCaseSensitive(approval,
							    "approved");
	const char *key = json_text(approval, "id", "");
	struct approval_find_in in = {q->id, key};
	struct approval_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_APPROVAL_FIND, &in,
			    &row, &q->arena, e);

	if (!cJSON_IsBool(yes))
		return err_set(e, ERR_INVALID,
			       "approved must be true or false in the answer "
			       "to approval %s",
			       quoted(key).text);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "run %s has no approval %s",
			       q->id, quoted(key).text);
	if (found < 0 || strcmp(row.state, "open") != 0)
		return found < 0 ? -1 : 0;
	if (all->n == ANSWERS_MAX)
		return err_set(e, ERR_TOOBIG,
			       "more than %d answers in one request",
			       ANSWERS_MAX);
	all->one[all->n].id = row.id;
	all->one[all->n++].as = (struct supervisor_answer){
		.allow = cJSON_IsTrue(yes),
		.note = arena_text(&q->arena,
				   json_text(approval, "reason", NULL)),
		.by = q->by,
	};
	return 0;
}

/* The message belongs to the run; its metadata has the position up to which the
 * client has received it. */
static int find_message(struct api_request *q, const cJSON *last, struct err *e)
{
	const cJSON *ours = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(last, "metadata"),
		AI_METADATA);
	struct run_row row;
	int found;

	q->id = arena_text(&q->arena, json_text(last, "id", ""));
	found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			&(struct run_get_in){q->id}, &row, &q->arena, e);
	if (found < 0)
		return -1;
	if (found == 0 || strcmp(row.agent, q->filter[0]) != 0 ||
	    strcmp(row.session, q->key) != 0)
		return err_set(e, ERR_NOTFOUND,
			       "the last message answers an approval, but "
			       "its id %s is not a run of this chat",
			       quoted(q->id).text);
	q->from = arena_text(&q->arena, json_text(ours, AI_CURSOR, NULL));
	if (!q->from)
		q->from = arena_printf(&q->arena, "%lld",
				       (long long)row.last_seq);
	return 0;
}

/* The command has set q->id to the approval; the run is in q->filter[1]. */
static int resume_stream(struct api_request *q, struct buf *out, struct err *e)
{
	q->id = q->filter[1];
	return start_stream(q, out, e);
}

/* The stream starts after the commit, which must not happen if it cannot. */
static int check_cursor(const struct api_request *q, struct err *e)
{
	struct tail_options want = {q->key, q->id, q->from};
	struct tail *t;

	if (tail_open(&t, &want, e))
		return -1;
	tail_close(t);
	return 0;
}

/* All of them or none. */
static int answer_all(struct api_request *q, const struct answers *all,
		      struct err *e)
{
	struct completion last = request_done(q);
	int rc = 0;

	txn_try_begin(&q->api->sup->txn);
	for (int i = 0; i < all->n && rc == 0; i++) {
		struct completion none = {0};

		rc = supervisor_answer(q->api->sup, all->one[i].id,
				       &all->one[i].as,
				       i == all->n - 1 ? last : none, e);
	}
	return txn_try_end(&q->api->sup->txn, rc, e);
}

static int answer_approvals(struct api_request *q, const cJSON *last,
			    struct err *e)
{
	struct answers all = {0};
	const cJSON *p;

	if (!(http_principal(q->http)->scopes & HTTP_SCOPE_BIT(APPROVE)))
		return err_set(e, ERR_DENIED,
			       "this needs a token with the scope \"%s\"",
			       http_scope_name(HTTP_SCOPE_APPROVE));
	if (find_message(q, last, e) || check_cursor(q, e))
		return -1;
	cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(last, "parts"))
	{
		if (is_answer(p) && read_answer(q, p, &all, e))
			return -1;
	}
	q->filter[1] = q->id;
	q->limit = all.n;
	q->read = resume_stream;
	if (all.n == 0) {
		request_read(q, resume_stream);
		return 0;
	}
	return answer_all(q, &all, e);
}

static const cJSON *last_message(const cJSON *body)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "messages");

	return cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
}

static int submit(struct api_request *q, const cJSON *body, const cJSON *last,
		  struct err *e)
{
	struct ai_run_request w = {
		.request = supervisor_run_defaults(q->api->sup)};
	int rc = ai_request_read(q, body, last, &w, e);

	if (rc == 0)
		rc = supervisor_submit_run(q->api->sup, &w.request,
					   request_done(q), e);
	ai_request_free(&w);
	return rc;
}

void route_ai_chat(struct api_request *q, const cJSON *body)
{
	const cJSON *last = last_message(body);
	struct err e = {0};

	q->filter[0] = request_param(q, "agent");
	q->key = arena_text(&q->arena, json_text(body, "id", NULL));
	q->read = start_stream;
	request_command(q,
			has_answers(last) ? answer_approvals(q, last, &e)
					  : submit(q, body, last, &e),
			&e);
}
