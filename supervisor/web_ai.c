/*
 * The AI SDK's chat: a message starts a run in the session named by the chat's
 * id, and the answer is that run's UI message stream. A client that comes back
 * gets the stream of the run in flight from its first frame, or 204; its rows
 * are at /v1/sessions/…/messages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "supervisor/ai_frames.h"
#include "supervisor/web_routes.h"
#include "supervisor/web_stream.h"

#define GRACE_MS 20000 /* a run that has just ended can still be replayed */

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

static int look_at_chat(struct follower *f, struct err *e)
{
	struct agent_file *file;
	struct arena a = {0};
	struct run_row row;
	int found = follower_run(f, &row, &a, e);
	bool over = found > 0 &&
		    run_state_is_over(
			    (enum run_state)run_state_from(row.state));
	int rc = found < 0
			 ? -1
			 : agent_files_get(&f->web->files, sup_db(f->web->sup),
					   f->agent, &file, e);

	ai_frames_start(f->own, f->run);
	while (rc > 0 && follower_has_room(f))
		rc = tail_read(f->tail, file, on_item, f, e);
	if (over && rc == 0)
		send_done(f, &row);
	arena_fini(&a);
	return rc < 0 ? -1 : over && rc == 0;
}

static void free_frames(struct follower *f)
{
	ai_frames_fini(f->own);
	free(f->own);
}

static const struct follower_ops chat_ops = {look_at_chat, free_frames};

/* q->id is the run, q->key the session, q->filter[0] the agent. */
static int give_stream(struct ask *q, struct buf *out, struct err *e)
{
	struct tail_want want = {q->key, q->id, NULL};
	struct follower *f;
	struct tail *t;

	(void)out;
	if (tail_open(&t, &want, e))
		return -1;
	http_reply_header(q->reply, "x-vercel-ai-ui-message-stream", "v1");
	f = follower_new(q, &chat_ops, q->id);
	f->tail = t;
	f->agent = strdup(q->filter[0]);
	f->own = calloc(1, sizeof(struct ai_frames));
	if (!f->own)
		abort();
	ai_frames_init(f->own, send_frame, f);
	return 0;
}

/* The run in flight, or one that ended a moment ago; else nothing to resume. */
static int resume(struct ask *q, struct buf *out, struct err *e)
{
	struct run_list_agent_in in = {.agent = q->filter[0],
				       .before = "~",
				       .session = q->key,
				       .count = 1};
	struct run_line_state_row line = {0};
	struct sql *db = sup_db(q->web->sup);
	struct run_row row = {0};

	if (sql_get(db, Q_RUN_LINE_STATE,
		    &(struct run_line_state_in){q->filter[0], q->key}, &line,
		    &q->arena, e) < 0 ||
	    sql_get(db, Q_RUN_LIST_AGENT, &in, &row, &q->arena, e) < 0)
		return -1;
	q->id = line.head;
	if (!q->id && row.id && row.ended_at != OPT_NONE &&
	    row.ended_at + GRACE_MS > clock_now())
		q->id = row.id;
	if (q->id)
		return give_stream(q, out, e);
	http_reply_empty(q->reply, 204);
	q->reply = NULL;
	return 0;
}

void route_ai_resume(void *app, const struct http_request *r,
		     struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);

	q->filter[0] = ask_param(q, r, "agent");
	q->key = ask_param(q, r, "id");
	ask_read(q, resume);
}

/* The text parts of a UIMessage. */
static void add_texts(const cJSON *message, struct buf *out)
{
	const cJSON *parts = cJSON_GetObjectItemCaseSensitive(message, "parts");
	const cJSON *p;

	cJSON_ArrayForEach(p, parts)
	{
		const char *words = json_text(p, "text", NULL);

		if (!words || strcmp(json_text(p, "type", ""), "text") != 0)
			continue;
		if (out->n)
			buf_addc(out, '\n');
		buf_adds(out, words);
	}
}

/* What is asked is the last message; the session has the others. Its id makes
 * the request idempotent: sent again, it is the same run. */
static int read_chat(struct ask *q, const cJSON *body, struct run_ask *ask,
		     struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "messages");
	const cJSON *last = cJSON_GetArrayItem(list,
					       cJSON_GetArraySize(list) - 1);
	struct buf prompt = BUF_MAX(8 << 20);
	const char *id = json_text(last, "id", NULL);

	q->key = arena_text(&q->arena, json_text(body, "id", NULL));
	add_texts(last, &prompt);
	ask->prompt = arena_textn(&q->arena, prompt.p, prompt.n);
	ask->session = q->key;
	if (id)
		ask->idem_key = arena_printf(&q->arena, "ai:%s:%s",
					     q->key ? q->key : "", id);
	buf_fini(&prompt);
	if (!q->key)
		return err_set(e, ERR_INVALID, "\"id\" names the chat");
	if (!ask->prompt[0] || strcmp(json_text(last, "role", ""), "user") != 0)
		return err_set(e, ERR_INVALID,
			       "the last of \"messages\" must be a user's, "
			       "with text");
	return 0;
}

void route_ai_chat(void *app, const struct http_request *r,
		   struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct run_ask ask = sup_ask(q->web->sup);
	struct err e = {0};
	cJSON *body = http_body_json(r, &e);
	int rc = body ? read_chat(q, body, &ask, &e) : -1;

	q->filter[0] = ask_param(q, r, "agent");
	ask.agent = q->filter[0];
	ask.by = q->by;
	q->read = give_stream;
	if (!rc)
		rc = sup_submit(q->web->sup, &ask, ask_done(q), &e);
	cJSON_Delete(body);
	ask_verb(q, rc, &e);
}
