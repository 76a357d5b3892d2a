#include "supervisor/api/write_async.h"

#include "schema/agent/agent_file.h"

#include <stdlib.h>
#include <string.h>

/* The changes of one agent's file. */
struct edit_batch {
	uv_work_t work;
	struct edit_batch *next; /* of the others at work */
	struct api *api;
	char *agent, *path;
	struct edit *now;  /* at work in the thread */
	struct edit *then; /* the next ones */
	struct edit **end; /* of those */
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

/* Each in its own transaction, and one wait for the disk for all. */
static void change_all(struct edit_batch *b, struct agent_file *f)
{
	struct err e;

	sql_defer_sync(f->db, true);
	for (struct edit *ed = b->now; ed; ed = ed->next)
		ed->rc = ed->change(ed, f, &ed->err);
	if (b->changes && sql_sync(f->db, &e))
		fail_all(b->now, &e);
}

static void write_in_thread(uv_work_t *w)
{
	struct edit_batch *b = w->data;
	struct agent_file f;
	struct err e;

	if (agent_file_open(&f, b->path, b->agent, 0, &e)) {
		fail_all(b->now, &e);
		return;
	}
	change_all(b, &f);
	agent_file_close(&f);
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

static void write_done(uv_work_t *w, int status)
{
	struct edit_batch *b = w->data;
	struct edit *ed = b->now, *next;
	struct err e;

	err_set(&e, ERR_CANCELED, "it was cancelled");
	if (status)
		fail_all(ed, &e);
	for (; ed; ed = next) {
		next = ed->next;
		edit_answer(ed);
	}
	b->now = b->then;
	b->then = NULL;
	b->end = &b->then;
	if (b->now)
		uv_queue_work(b->api->loop, &b->work, write_in_thread,
			      write_done);
	else
		batch_free(b);
}

static struct edit_batch *batch_new(const struct edit *ed)
{
	struct edit_batch *b = calloc(1, sizeof *b);

	if (!b)
		abort();
	b->work.data = b;
	b->end = &b->then;
	b->api = ed->q->api;
	b->changes = !ed->reads_only;
	b->agent = strdup(ed->q->filter[0]);
	b->path = strdup(ed->path);
	if (!b->agent || !b->path)
		abort();
	return b;
}

/* The batch that works on the same file, or NULL. */
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
	struct api *web = ed->q->api;
	struct edit_batch *b = ed->reads_only ? NULL : find_batch(ed);

	ed->next = NULL;
	if (b) {
		*b->end = ed;
		b->end = &ed->next;
		return;
	}
	b = batch_new(ed);
	b->now = ed;
	b->next = web->batches;
	web->batches = b;
	uv_queue_work(web->loop, &b->work, write_in_thread, write_done);
}
