#include "supervisor/api/write_async.h"

#include "schema/agent/agent_file.h"
#include "supervisor/core/supervisor.h"

#include <stdlib.h>
#include <string.h>

/* The changes of one agent's file. */
struct edit_batch {
	struct agent_work work;  /* for changes */
	uv_work_t read;          /* for reads */
	struct edit_batch *next; /* in the list of active batches */
	struct api *api;
	char *agent, *path;
	struct edit *running; /* executed by the thread */
	struct edit *queued;  /* for the next batch */
	struct edit **end;    /* end of that list */
	bool changes;
};

/* --- in the thread ------------------------------------------------------ */

static void fail_all(struct edit *ed, const struct err *e)
{
	for (; ed; ed = ed->next) {
		if (ed->rc == 0)
			ed->err = *e;
		ed->rc = -1;
	}
}

/* Each change is a transaction of its own; one sync covers all. */
static void change_all(struct edit_batch *b, struct agent_file *f)
{
	struct err e;

	sql_defer_sync(f->db, true);
	for (struct edit *ed = b->running; ed; ed = ed->next)
		ed->rc = ed->change(ed, f, &ed->err);
	if (b->changes && sql_sync(f->db, &e))
		fail_all(b->running, &e);
}

static void work_on_file(struct edit_batch *b)
{
	struct agent_file f;
	struct err e;

	if (agent_file_open(&f, b->path, b->agent, 0, &e)) {
		fail_all(b->running, &e);
		return;
	}
	change_all(b, &f);
	agent_file_close(&f);
}

static void write_in_thread(struct agent_work *w)
{
	work_on_file(w->data);
}

static void read_in_thread(uv_work_t *w)
{
	work_on_file(w->data);
}

/* --- on the loop --------------------------------------------------------- */

static void batch_free(struct edit_batch *b)
{
	struct edit_batch **at = &b->api->batches;

	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	free(b->agent);
	free(b->path);
	free(b);
}

static void answer_all(struct edit_batch *b)
{
	struct edit *ed = b->running, *next;

	for (; ed; ed = next) {
		next = ed->next;
		edit_answer(ed);
	}
}

static void write_done(struct agent_work *w)
{
	struct edit_batch *b = w->data;

	answer_all(b);
	b->running = b->queued;
	b->queued = NULL;
	b->end = &b->queued;
	if (b->running)
		agent_work_submit(b->api->sup->agent_threads, &b->work);
	else
		batch_free(b);
}

static void read_done(uv_work_t *w, int status)
{
	struct edit_batch *b = w->data;

	(void)status; /* it is never cancelled */
	answer_all(b);
	batch_free(b);
}

static struct edit_batch *batch_new(const struct edit *ed)
{
	struct edit_batch *b = calloc(1, sizeof *b);

	if (!b)
		abort();
	b->end = &b->queued;
	b->api = ed->q->api;
	b->changes = !ed->reads_only;
	b->agent = strdup(ed->q->filter[0]);
	b->path = strdup(ed->path);
	if (!b->agent || !b->path)
		abort();
	b->work = (struct agent_work){.agent = b->agent,
				      .data = b,
				      .in_thread = write_in_thread,
				      .done = write_done};
	b->read.data = b;
	return b;
}

/* The batch that changes the same file, or NULL. */
static struct edit_batch *find_batch(const struct edit *ed)
{
	struct edit_batch *b = ed->q->api->batches;

	while (b && (!b->changes || strcmp(b->path, ed->path) != 0 ||
		     strcmp(b->agent, ed->q->filter[0]) != 0))
		b = b->next;
	return b;
}

void edit_queue(struct edit *ed)
{
	struct api *api = ed->q->api;
	struct edit_batch *b = ed->reads_only ? NULL : find_batch(ed);

	ed->next = NULL;
	if (b) {
		*b->end = ed;
		b->end = &ed->next;
		return;
	}
	b = batch_new(ed);
	b->running = ed;
	b->next = api->batches;
	api->batches = b;
	if (b->changes)
		agent_work_submit(api->sup->agent_threads, &b->work);
	else
		uv_queue_work(api->loop, &b->read, read_in_thread, read_done);
}
