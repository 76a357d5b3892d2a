/* Changes to sessions, and the thread that makes them (write_async.h). */
#include "supervisor/api/write_async.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/session.h"
#include "supervisor/core/operator.h"
#include "vfs/marker/session_files.h"

/* --- the changes, in the thread ---------------------------------------- */

static int add_session_json(struct edit *ed, const struct session_row *row)
{
	json_add_shape(&ed->out, &session_row_shape, row);
	return 0;
}

static int show_now(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct session_row row;

	if (session_need(f, ed->q->key, &row, &ed->q->arena, e))
		return -1;
	return add_session_json(ed, &row);
}

static int patch_session(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct session_row row;

	if (session_patch(f, ed->q->key, ed->body, ed->rev, &row, &ed->q->arena,
			  e))
		return -1;
	return add_session_json(ed, &row);
}

/* PUT: creates the session if it does not exist. */
static int put_session(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct session_new n = {.key = ed->q->key};
	struct session_row row;

	if (session_ensure(f, &n, &row, &ed->q->arena, e) < 0)
		return -1;
	return patch_session(ed, f, e);
}

static int delete_session(struct edit *ed, struct agent_file *f, struct err *e)
{
	if (show_now(ed, f, e))
		return -1;
	return session_delete(f, ed->q->key, e);
}

static int fork_session(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct session_fork_body *body = ed->body;
	struct fork_new n = {.from = ed->q->key,
			     .at = body->at,
			     .key = body->key,
			     .title = body->title,
			     .copy = body->copy};
	struct session_row row;

	if (body->files ? session_fork_files(f, &n, body->workspace, &row,
					     &ed->q->arena, e)
			: session_fork(f, &n, &row, &ed->q->arena, e))
		return -1;
	return add_session_json(ed, &row);
}

static int rewind_session(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct session_rewind_body *body = ed->body;

	if (body->files ? session_rewind_files(f, ed->q->key, body->seq,
					       body->force, e)
			: session_rewind(f, ed->q->key, body->seq, e))
		return -1;
	return show_now(ed, f, e);
}

static int restore_session(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct session_restore_body *body = ed->body;

	if (body->transcript
		    ? session_restore(f, ed->q->key, e)
		    : session_restore_files(f, ed->q->key, body->force, e))
		return -1;
	return show_now(ed, f, e);
}

/* --- on the loop -------------------------------------------------------- */

static void edit_free(struct edit *ed)
{
	buf_fini(&ed->out);
	free(ed);
}

static void audit_deletion(const struct api_request *q)
{
	struct completion nobody = {0};
	struct err e;
	char subject[700];

	snprintf(subject, sizeof subject, "%s/%s", q->filter[0], q->key);
	if (supervisor_audit(q->api->sup, "session.rm", subject, NULL, q->by,
			     nobody, &e))
		log_warn(LT("msg",
			    "cannot add an audit row for a deleted session"),
			 LT("error", e.text));
}

void edit_answer(struct edit *ed)
{
	struct api_request *q = ed->q;

	if (ed->rc) {
		request_fail(q, &ed->err);
	} else if (ed->type) {
		if (ed->cursor)
			http_reply_header(q->reply, "Skep-Next", ed->cursor);
		api_reply_bytes(q->reply, ed->type,
				(struct blob){ed->out.p, ed->out.n});
		request_free(q);
	} else {
		if (ed->change == delete_session)
			audit_deletion(q);
		http_reply_json(q->reply, 200, ed->out.p, ed->out.n);
		request_free(q);
	}
	edit_free(ed);
}

static void queue_edit(void *arg, const struct err *failed)
{
	struct edit *ed = arg;
	struct api_request *q = ed->q;
	struct agent_database_row row;
	struct err e = {0};
	int found = failed ? -1
			   : sql_get(supervisor_db(q->api->sup),
				     Q_AGENT_DATABASE_GET,
				     &(struct agent_database_get_in){
					     q->filter[0]},
				     &row, &q->arena, &e);

	if (found > 0) {
		ed->path = row.path;
		edit_queue(ed);
		return;
	}
	if (found == 0 && q->key)
		err_set(&e, ERR_NOTFOUND, "agent %s has no session %s",
			quoted(q->filter[0]).text, quoted(q->key).text);
	else if (found == 0)
		err_set(&e, ERR_NOTFOUND, "agent %s has no data yet",
			quoted(q->filter[0]).text);
	request_fail(q, failed ? failed : &e);
	edit_free(ed);
}

struct edit *edit_of(struct api_request *q, const char *agent)
{
	struct edit *ed = calloc(1, sizeof *ed);

	if (!ed)
		abort();
	ed->q = q;
	buf_init(&ed->out, 8 << 20);
	q->filter[0] = agent;
	return ed;
}

struct edit *edit_new(struct api_request *q)
{
	return edit_of(q, request_param(q, "agent"));
}

struct edit *edit_session(struct api_request *q)
{
	struct edit *ed = edit_new(q);

	q->key = request_param(q, "key");
	return ed;
}

void edit_start(struct edit *ed, edit_fn *change)
{
	ed->change = change;
	supervisor_after_commit(ed->q->api->sup, queue_edit, ed);
}

/* If-Match holds the revision that the change was made from. */
static int read_rev(struct edit *ed, struct err *e)
{
	const char *match = http_header(ed->q->http, "If-Match");
	char text[32];

	if (!match)
		return 0;
	if (match[0] == '"')
		match++;
	snprintf(text, sizeof text, "%.*s", (int)strcspn(match, "\""), match);
	return text_i64("If-Match", text, 1, INT64_MAX, &ed->rev, e);
}

static void start_patch(struct api_request *q, const char *patch,
			edit_fn *change)
{
	struct edit *ed = edit_session(q);
	struct err e = {0};

	ed->body = arena_text(&q->arena, patch);
	if (read_rev(ed, &e) == 0) {
		edit_start(ed, change);
		return;
	}
	request_fail(q, &e);
	edit_free(ed);
}

void route_session_patch(struct api_request *q, const char *body)
{
	start_patch(q, body, patch_session);
}

void route_session_put(struct api_request *q, const char *body)
{
	start_patch(q, body, put_session);
}

void route_session_delete(struct api_request *q)
{
	edit_start(edit_session(q), delete_session);
}

void route_session_fork(struct api_request *q,
			const struct session_fork_body *body)
{
	struct edit *ed = edit_session(q);

	ed->body = body;
	edit_start(ed, fork_session);
}

void route_session_rewind(struct api_request *q,
			  const struct session_rewind_body *body)
{
	struct edit *ed = edit_session(q);

	ed->body = body;
	edit_start(ed, rewind_session);
}

void route_session_restore(struct api_request *q,
			   const struct session_restore_body *body)
{
	struct edit *ed = edit_session(q);

	ed->body = body;
	edit_start(ed, restore_session);
}
