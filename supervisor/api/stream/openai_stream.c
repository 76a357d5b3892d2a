/* The events of a run as a stream for OpenAI clients. The writer keeps what it
 * has sent, so each client has a stream of its own. */
#include <stdlib.h>

#include "supervisor/api/openai/writer.h"
#include "supervisor/api/stream/internal.h"

struct openai_subject {
	struct api *api;
	struct openai_writer *writer;
	struct agent_file *file; /* during a poll; NULL: there is none yet */
	struct arena arena;      /* of row */
	struct run_row row;
};

struct openai_reader {
	struct tail *tail;
	struct openai_writer *writer;
	stream_send *send; /* during a call of read or finish */
	void *arg;
	int full; /* result of the last send */
};

static void free_openai_subject(void *subject)
{
	struct openai_subject *u = subject;

	arena_fini(&u->arena);
	openai_writer_free(u->writer);
	free(u);
}

static int refresh_openai(struct event_stream *t, struct err *e)
{
	struct openai_subject *u = t->subject;
	struct sql *db = supervisor_db(t->api->sup);
	int found;

	arena_reset(&u->arena);
	u->file = NULL;
	found = sql_get(db, Q_RUN_GET, &(struct run_get_in){u->writer->run},
			&u->row, &u->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "the run was deleted");
	if (found < 0)
		return -1;
	stream_watch_run(t, &u->row);
	t->over = run_row_is_over(&u->row);
	return agent_files_get(&t->api->files, db, u->row.agent, &u->file, e) <
			       0
		       ? -1
		       : 0;
}

static void send_event(void *arg, const struct sse_event *ev)
{
	struct openai_reader *r = arg;

	r->full = r->send(r->arg, ev);
}

static void set_output(struct openai_reader *r, stream_send *send, void *arg)
{
	r->send = send;
	r->arg = arg;
	r->full = 0;
	r->writer->send = send_event;
	r->writer->arg = r;
}

static int open_openai_reader(void *subject, const char *after, void **reader,
			      struct err *e)
{
	struct openai_subject *u = subject;
	struct tail_options want = {u->writer->session, u->writer->run, after};
	struct openai_reader *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	if (tail_open(&r->tail, &want, e)) {
		free(r);
		return -1;
	}
	r->writer = u->writer;
	*reader = r;
	return 0;
}

static void close_openai_reader(void *reader)
{
	struct openai_reader *r = reader;

	if (!r)
		return;
	tail_close(r->tail);
	free(r);
}

static int write_item(void *arg, const struct tail *tail,
		      const struct tail_item *item)
{
	struct openai_reader *r = arg;

	(void)tail;
	openai_writer_item(r->writer, item);
	return r->full;
}

static int read_openai_rows(void *subject, void *reader, stream_send *send,
			    void *arg, struct err *e)
{
	struct openai_subject *u = subject;
	struct openai_reader *r = reader;

	set_output(r, send, arg);
	openai_writer_begin(r->writer);
	return u->file ? tail_read(r->tail, u->file, write_item, r, e) : 0;
}

static bool finish_openai(struct event_stream *t, void *reader,
			  stream_send *send, void *arg)
{
	struct openai_subject *u = t->subject;

	set_output(reader, send, arg);
	openai_writer_end(u->writer, &u->row);
	return true;
}

static const struct stream_source openai_source = {
	.refresh = refresh_openai,
	.open = open_openai_reader,
	.close = close_openai_reader,
	.read = read_openai_rows,
	.finish = finish_openai,
	.free = free_openai_subject,
};

void openai_stream_subscribe(struct api_request *q, struct openai_writer *w)
{
	struct openai_subject *u = calloc(1, sizeof *u);
	struct stream_request request = {
		.source = &openai_source,
		.subject = u,
		.until_over = true,
	};
	struct err e = {0};

	if (!u)
		abort();
	u->api = q->api;
	u->writer = w;
	if (stream_subscribe(q->api, &request, q->reply, &e)) {
		request_fail(q, &e);
		return;
	}
	q->reply = NULL;
	request_free(q);
}
