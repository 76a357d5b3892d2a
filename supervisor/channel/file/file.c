/*
 * file: each message is a line of JSON, synced before it counts as delivered. A
 * thread writes all deliveries that were claimed together. After a crash, the
 * file itself shows whether a line was written.
 */
#include "supervisor/channel/delivery.h"

#include "lib/os/file.h"
#include "supervisor/channel/envelope.h"
#include "supervisor/channel/file/rotating_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_START      "{\"id\":\"" /* how envelope_write_data begins */
#define BATCH_MAX       (256u << 20)
#define LOCK_TIMEOUT_MS 2000 /* it occupies a thread of the pool */

/* Work for a thread: lines to write or to search for. The thread uses the file
 * and the text; the deliveries belong to the loop. */
struct task {
	uv_work_t work;
	struct task *next;       /* in the list of detached tasks */
	struct channel *channel; /* NULL: the channel was closed */
	struct arena arena;
	struct rotating_log file;
	struct buf text;            /* lines to write, or … */
	struct wanted_line *wanted; /* … lines to search for */
	size_t n;
	struct inflight *first;
	struct inflight **end;
	int rc;
	bool unknown;
	struct err err;
};

/* One task at a time uses a thread of the pool. */
struct sink {
	char *path;
	struct task *next;    /* lines to write next */
	struct task *queries; /* lines to search for next */
	struct task *busy;    /* the task in a thread */
	bool searched;        /* the last task was a search */
};

/* Writes whose channel was closed before they ended. Used on the loop only. */
static struct task *detached;

/* --- in the thread ---------------------------------------------------- */

static void append_in_thread(uv_work_t *w)
{
	struct task *t = w->data;
	struct blob lines = {t->text.p, t->text.n};

	t->rc = buf_ok(&t->text, "the batch", &t->err)
			? -1
			: rotating_log_append(&t->file, lines, &t->unknown,
					      &t->err);
}

static void search_in_thread(uv_work_t *w)
{
	struct task *t = w->data;

	t->rc = rotating_log_find(&t->file, t->wanted, t->n, &t->err);
}

/* --- on the loop ------------------------------------------------------ */

static void run_next(struct channel *c);

static void report_written(struct task *t)
{
	struct outcome o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1, "%s", "");
	struct inflight *next;

	if (t->rc)
		o = outcome_of(t->unknown ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL,
			       OPT_NONE, -1, "%s", t->err.text);
	for (struct inflight *p = t->first; p; p = next) {
		next = p->next;
		inflight_done(p, &o);
	}
}

static void report_found(const struct task *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct outcome o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1,
					      "%s", "");

		if (!t->wanted[i].found && t->rc)
			o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1, "%s",
				       t->err.text);
		else if (!t->wanted[i].found)
			o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
				       "the file does not have it");
		inflight_done(t->wanted[i].owner, &o);
	}
}

static void task_free(struct task *t)
{
	buf_fini(&t->text);
	arena_fini(&t->arena);
	free(t);
}

static void unlink_detached(const struct task *t)
{
	struct task **at = &detached;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
}

static void task_done(uv_work_t *w, int status)
{
	struct task *t = w->data;
	struct channel *c = t->channel;
	struct sink *k;

	(void)status;
	if (c) {
		k = c->own;
		k->busy = NULL;
		if (t->wanted)
			report_found(t);
		else
			report_written(t);
		run_next(c);
	}
	unlink_detached(t);
	task_free(t);
}

static struct task *task_new(struct channel *c)
{
	struct sink *k = c->own;
	struct task *t = calloc(1, sizeof *t);

	if (!t)
		abort();
	t->work.data = t;
	t->channel = c;
	t->file = (struct rotating_log){
		.path = arena_text(&t->arena, k->path),
		.start = LINE_START "dlv_",
		.rotate = c->config.rotate,
		.keep = c->config.keep,
		.lock_timeout_ms = LOCK_TIMEOUT_MS,
	};
	t->end = &t->first;
	buf_init(&t->text, BATCH_MAX);
	return t;
}

static void add_inflight(struct task *t, struct inflight *p)
{
	p->next = NULL;
	*t->end = p;
	t->end = &p->next;
	t->n++;
}

static void start_search(struct channel *c, struct task *t)
{
	size_t i = 0;

	t->wanted = arena_alloc(&t->arena, t->n * sizeof *t->wanted);
	for (struct inflight *p = t->first; p; p = p->next)
		t->wanted[i++] = (struct wanted_line){
			.start = arena_printf(&t->arena, LINE_START "%s\"",
					      p->row.id),
			.owner = p,
		};
	uv_queue_work(&c->sup->loop, &t->work, search_in_thread, task_done);
}

/* Alternates between writes and searches. */
static void run_next(struct channel *c)
{
	struct sink *k = c->own;

	if (k->busy || (!k->queries && !k->next))
		return;
	k->searched = k->queries && !(k->searched && k->next);
	if (k->searched) {
		k->busy = k->queries;
		k->queries = NULL;
		start_search(c, k->busy);
		return;
	}
	k->busy = k->next;
	k->next = NULL;
	uv_queue_work(&c->sup->loop, &k->busy->work, append_in_thread,
		      task_done);
}

static void add_task(struct channel *c, struct inflight *p)
{
	struct sink *k = c->own;

	if (!k->next)
		k->next = task_new(c);
	add_inflight(k->next, p);
	buf_add(&k->next->text, p->body.p, p->body.n);
}

static void sink_send(struct channel *c, struct inflight *p)
{
	struct outcome o;
	struct err e;

	if (envelope_write_data(p, false, &p->body, &e) == 0 &&
	    buf_addc(&p->body, '\n') == 0) {
		add_task(c, p);
		return;
	}
	o = outcome_of(DELIVERY_EV_REFUSE, OPT_NONE, -1, "%s", e.text);
	inflight_done(p, &o);
}

/* --- queries -------------------------------------------------------------- */

static bool has_inflight(const struct task *t, const char *id)
{
	for (const struct inflight *p = t ? t->first : NULL; p; p = p->next)
		if (!strcmp(p->row.id, id))
			return true;
	return false;
}

/* May the line still be written? Its lease may have expired while it waits, or
 * its channel was closed during the write. */
static bool may_be_written(const struct sink *k, const char *id)
{
	for (const struct task *t = detached; t; t = t->next)
		if (!strcmp(t->file.path, k->path))
			return true;
	return has_inflight(k->next, id) ||
	       (k->busy && !k->busy->wanted && has_inflight(k->busy, id));
}

static bool sink_query(struct channel *c, struct inflight *p)
{
	struct sink *k = c->own;
	struct outcome o;

	if (may_be_written(k, p->row.id)) {
		o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
			       "it is still being written");
		inflight_done(p, &o);
		return true;
	}
	if (!k->queries)
		k->queries = task_new(c);
	add_inflight(k->queries, p);
	return true;
}

/* --- opening and closing -------------------------------------------------- */

static int sink_open(struct channel *c, struct err *e)
{
	struct sink *k = calloc(1, sizeof *k);
	struct home_path own = home_join(
		&c->sup->home, HOME_LOGS,
		arena_printf(&c->arena, "channel-%s.jsonl", c->name));

	(void)e;
	if (!k)
		abort();
	k->path = strdup(c->config.path[0] ? c->config.path : own.text);
	c->own = k;
	return 0;
}

static void return_unsent(struct task *t, enum delivery_event event)
{
	struct outcome o = outcome_of(event, OPT_NONE, -1,
				      "the channel was closed");
	struct inflight *next;

	for (struct inflight *p = t->first; p; p = next) {
		next = p->next;
		inflight_done(p, &o);
	}
	t->first = NULL;
	t->channel = NULL;
}

static void end_task(struct task *t, enum delivery_event event)
{
	if (!t)
		return;
	return_unsent(t, event);
	task_free(t);
}

/* A write that has begun continues; its result is not reported. */
static void detach_busy(struct task *t)
{
	bool begun = uv_cancel((uv_req_t *)&t->work) != 0;

	return_unsent(t,
		      begun || t->wanted ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL);
	if (!begun || t->wanted)
		return;
	t->next = detached;
	detached = t;
}

static void sink_close(struct channel *c)
{
	struct sink *k = c->own;

	if (k->busy)
		detach_busy(k->busy);
	end_task(k->queries, DELIVERY_EV_LOSE);
	end_task(k->next, DELIVERY_EV_FAIL);
	free(k->path);
	free(k);
}

static bool sink_ready(const struct channel *c)
{
	(void)c;
	return true;
}

const struct channel_ops channel_file = {
	.kind = "file",
	.open = sink_open,
	.close = sink_close,
	.ready = sink_ready,
	.send = sink_send,
	.sent_all = run_next,
	.query = sink_query,
	.tick = run_next, /* starts queued searches */
};
