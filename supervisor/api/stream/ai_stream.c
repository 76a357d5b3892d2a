/* The events of a run as a chat stream of the AI SDK. The frames depend on what
 * a client got before, so each client has a stream of its own. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/api/stream/ai_frames.h"
#include "supervisor/api/stream/internal.h"

struct ai_subject {
	struct api *api;
	char *agent;
	char *session;
	char run[ID_SIZE];
	int64_t answers;
	bool resumed;            /* the client has the first part */
	struct agent_file *file; /* during a poll; NULL: there is none yet */
	struct arena arena;      /* of row */
	struct run_row row;
	bool run_over;
};

struct ai_reader {
	struct tail *tail;
	struct ai_frames frames;
	stream_send *send; /* during a call of read or finish */
	void *arg;
	int full; /* result of the last send */
};

static void free_subject(void *subject)
{
	struct ai_subject *u = subject;

	arena_fini(&u->arena);
	free(u->agent);
	free(u->session);
	free(u);
}

/* --- the state of the run ----------------------------------------------- */

/* Is an approval open? Read it before the transcript, which contains the
 * question by then. */
static bool has_open_approval(struct ai_subject *u)
{
	struct approval_open_count_in in = {u->run};
	struct approval_open_count_row row = {0};
	struct err ignored; /* the next poll tries again */

	return sql_get(supervisor_db(u->api->sup), Q_APPROVAL_OPEN_COUNT, &in,
		       &row, &u->arena, &ignored) == 1 &&
	       row.n > 0;
}

static int refresh(struct event_stream *t, struct err *e)
{
	struct ai_subject *u = t->subject;
	struct sql *db = supervisor_db(t->api->sup);
	int found;

	arena_reset(&u->arena);
	u->file = NULL;
	t->over = has_open_approval(u);
	found = sql_get(db, Q_RUN_GET, &(struct run_get_in){u->run}, &u->row,
			&u->arena, e);
	if (found > 0)
		stream_watch_run(t, &u->row);
	u->run_over = found > 0 && run_row_is_over(&u->row);
	t->over |= u->run_over;
	return found < 0 || agent_files_get(&t->api->files, db, u->agent,
					    &u->file, e) < 0
		       ? -1
		       : 0;
}

/* --- rows ---------------------------------------------------------------- */

static void send_frame(void *arg, const struct buf *frame)
{
	struct ai_reader *r = arg;

	r->full = r->send(r->arg,
			  &(struct sse_event){.data = frame->p, .n = frame->n});
}

static int open_reader(void *subject, const char *after, void **reader,
		       struct err *e)
{
	struct ai_subject *u = subject;
	struct tail_options want = {u->session, u->run, after};
	struct ai_reader *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	if (tail_open(&r->tail, &want, e)) {
		free(r);
		return -1;
	}
	ai_frames_init(&r->frames, send_frame, r);
	r->frames.resumed = u->resumed;
	r->frames.answers = u->answers;
	*reader = r;
	return 0;
}

static void close_reader(void *reader)
{
	struct ai_reader *r = reader;

	if (!r)
		return;
	tail_close(r->tail);
	ai_frames_fini(&r->frames);
	free(r);
}

static int send_item(void *arg, const struct tail *tail,
		     const struct tail_item *item)
{
	struct ai_reader *r = arg;

	(void)tail;
	ai_frames_item(&r->frames, item);
	return r->full;
}

static int read_rows(void *subject, void *reader, stream_send *send, void *arg,
		     struct err *e)
{
	struct ai_subject *u = subject;
	struct ai_reader *r = reader;

	r->send = send;
	r->arg = arg;
	r->full = 0;
	ai_frames_start(&r->frames, u->run);
	return u->file ? tail_read(r->tail, u->file, send_item, r, e) : 0;
}

/* The run is over, or it waits for answers that have not been given yet. */
static bool finish(struct event_stream *t, void *reader, stream_send *send,
		   void *arg)
{
	static const char done[] = "[DONE]";
	struct ai_subject *u = t->subject;
	const struct run_row *row = &u->row;
	struct ai_reader *r = reader;
	struct buf cursor = BUF_MAX(1 << 20);

	r->send = send;
	r->arg = arg;
	if (u->run_over) {
		ai_frames_end(&r->frames, row->state,
			      row->detail ? row->detail : row->reason);
	} else if (r->frames.answers == 0) {
		tail_cursor(r->tail, &cursor);
		ai_frames_pause(&r->frames, cursor.p);
		buf_fini(&cursor);
	} else {
		return false;
	}
	send(arg, &(struct sse_event){.data = done, .n = sizeof done - 1});
	return true;
}

static const struct stream_source ai_source = {
	.header = {"x-vercel-ai-ui-message-stream", "v1"},
	.refresh = refresh,
	.open = open_reader,
	.close = close_reader,
	.read = read_rows,
	.finish = finish,
	.free = free_subject,
};

int ai_stream_subscribe(struct api *w, const struct ai_stream_request *want,
			struct http_reply *reply, struct err *e)
{
	struct ai_subject *u = calloc(1, sizeof *u);
	struct stream_request request = {
		.source = &ai_source,
		.subject = u,
		.after = want->after,
		.until_over = true,
	};

	if (!u)
		abort();
	u->api = w;
	u->agent = strdup(want->agent);
	u->session = strdup(want->session);
	snprintf(u->run, sizeof u->run, "%s", want->run);
	u->resumed = want->after != NULL;
	u->answers = want->answers;
	return stream_subscribe(w, &request, reply, e);
}
