/*
 * The AI SDK's chat: a message starts a run in the session named by the chat's
 * id, and the answer is that run's UI message stream. A client that comes back
 * gets the stream of the run in flight from its first frame, or 204; its rows
 * are at /v1/sessions/…/messages. A run that asks somebody ends the stream, and
 * the assistant's message with the answers in it goes on with it.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "supervisor/api/ai_request.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/ai_frames.h"
#include "supervisor/api/stream/stream.h"

#define GRACE_MS 20000 /* how long an ended run can still be replayed */

static void send_frame(void *arg, const struct buf *frame)
{
	follower_send(arg, NULL, NULL, frame);
}

static int on_item(void *arg, const struct tail *t,
		   const struct tail_item *item)
{
	struct follower *f = arg;

	(void)t;
	ai_frames_item(f->own, item);
	return !follower_has_room(f);
}

static void send_done(struct follower *f, const struct run_row *row)
{
	struct buf b = BUF_MAX(16);

	ai_frames_end(f->own, row->state,
		      row->detail ? row->detail : row->reason);
	buf_adds(&b, "[DONE]");
	follower_send(f, NULL, NULL, &b);
	buf_fini(&b);
}

static void send_pause(struct follower *f)
{
	struct buf b = BUF_MAX(4096);

	tail_cursor(f->tail, &b);
	ai_frames_pause(f->own, b.p);
	buf_clear(&b);
	buf_adds(&b, "[DONE]");
	follower_send(f, NULL, NULL, &b);
	buf_fini(&b);
}

/* Is an approval open? Read it before the transcript, which contains the
 * question by then. */
static bool has_open_approval(struct follower *f)
{
	struct approval_open_count_in in = {f->run};
	struct approval_open_count_row row = {0};
	struct err ignored; /* the next poll tries again */
	struct arena a = {0};
	bool asked = sql_get(supervisor_db(f->api->sup), Q_APPROVAL_OPEN_COUNT,
			     &in, &row, &a, &ignored) == 1 &&
		     row.n > 0;

	arena_fini(&a);
	return asked;
}

static int poll_chat(struct follower *f, struct err *e)
{
	const struct ai_frames *frames = f->own;
	bool pause = has_open_approval(f);
	struct agent_file *file;
	struct arena a = {0};
	struct run_row row;
	int found = follower_run(f, &row, &a, e);
	bool over = found > 0 &&
		    run_state_is_over(
			    (enum run_state)run_state_from(row.state));
	int rc = found < 0 ? -1
			   : agent_files_get(&f->api->files,
					     supervisor_db(f->api->sup),
					     f->agent, &file, e);

	ai_frames_start(f->own, f->run);
	while (rc > 0 && follower_has_room(f))
		rc = tail_read(f->tail, file, on_item, f, e);
	pause = pause && frames->answers == 0;
	if (over && rc == 0)
		send_done(f, &row);
	else if (pause && rc == 0)
		send_pause(f);
	arena_fini(&a);
	return rc < 0 ? -1 : (over || pause) && rc == 0;
}

static void free_frames(struct follower *f)
{
	ai_frames_fini(f->own);
	free(f->own);
}

static const struct follower_ops chat_ops = {poll_chat, free_frames};

/* q->id is the run, q->key the session, q->filter[0] the agent. With a cursor
 * in q->from it goes on, and q->limit answers are new. */
static int start_stream(struct api_request *q, struct buf *out, struct err *e)
{
	struct tail_options want = {q->key, q->id, q->from};
	struct ai_frames *frames;
	struct follower *f;
	struct tail *t;

	(void)out;
	if (tail_open(&t, &want, e))
		return -1;
	http_reply_header(q->reply, "x-vercel-ai-ui-message-stream", "v1");
	f = follower_new(q, &chat_ops, q->id);
	f->tail = t;
	f->agent = strdup(q->filter[0]);
	f->own = frames = calloc(1, sizeof *frames);
	if (!frames)
		abort();
	ai_frames_init(frames, send_frame, f);
	frames->resumed = q->from != NULL;
	frames->answers = q->from ? q->limit : 0;
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
	const cJSON *said = cJSON_GetObjectItemCaseSensitive(part, "approval");
	const char *key = json_text(said, "id", "");
	struct approval_find_in in = {q->id, key};
	struct approval_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_APPROVAL_FIND, &in,
			    &row, &q->arena, e);

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
		.allow = cJSON_IsTrue(
			cJSON_GetObjectItemCaseSensitive(said, "approved")),
		.note = arena_text(&q->arena, json_text(said, "reason", NULL)),
		.by = q->by,
	};
	return 0;
}

/* The message is the run's, and its place is what the client has of it. */
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

static int answer_approvals(struct api_request *q, const cJSON *last,
			    struct err *e)
{
	struct answers all = {0};
	const cJSON *p;

	if (!(http_principal(q->http)->scopes & HTTP_SCOPE_BIT(APPROVE)))
		return err_set(e, ERR_DENIED,
			       "this needs a token with the scope \"%s\"",
			       http_scope_name(HTTP_SCOPE_APPROVE));
	if (find_message(q, last, e))
		return -1;
	cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(last, "parts"))
	{
		if (is_answer(p) && read_answer(q, p, &all, e))
			return -1;
	}
	q->filter[1] = q->id;
	q->limit = all.n;
	for (int i = 0; i < all.n; i++) {
		struct completion done = {0};

		if (i == all.n - 1)
			done = request_done(q);
		if (supervisor_answer(q->api->sup, all.one[i].id,
				      &all.one[i].as, done, e))
			return -1;
	}
	q->read = resume_stream;
	if (all.n == 0)
		request_read(q, resume_stream);
	return 0;
}

static const cJSON *last_message(const cJSON *body)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "messages");

	return cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
}

static int submit(struct api_request *q, const cJSON *body, const cJSON *last,
		  struct err *e)
{
	struct ai_run_request w = {.ask = supervisor_run_defaults(q->api->sup)};
	int rc = ai_request_read(q, body, last, &w, e);

	if (rc == 0)
		rc = supervisor_submit_run(q->api->sup, &w.ask, request_done(q),
					   e);
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
