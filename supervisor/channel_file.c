/*
 * file: each message is a line of JSON, on the disk before it counts as
 * delivered. Written in a thread, all that was claimed together at once. When a
 * crash leaves it open whether a line came, the file itself says so.
 */
#include "supervisor/channel.h"

#include "base/file.h"
#include "supervisor/line_file.h"
#include "supervisor/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_START  "{\"id\":\"" /* as wire_data begins */
#define BATCH_MAX   (256u << 20)
#define PATIENCE_MS 2000 /* a thread is held as long; there are few */

/* Work for a thread: lines to write, or one to look for. It sees the file and
 * the text; the parcels are the loop's. */
struct task {
	uv_work_t work;
	struct task *next;
	struct channel *channel; /* NULL: it was closed meanwhile */
	struct line_file file;
	char *path;
	struct buf text; /* lines, or the start of one */
	struct parcel *first;
	struct parcel **end;
	int rc;
	bool unknown;
	struct err err;
};

struct sink {
	char *path;
	struct task *next; /* being gathered */
	struct task *busy; /* being written */
	struct task *looks;
};

/* --- in the thread ---------------------------------------------------- */

static void append(uv_work_t *w)
{
	struct task *t = w->data;
	struct blob lines = {t->text.p, t->text.n};

	t->rc = buf_ok(&t->text, "the batch", &t->err)
			? -1
			: line_file_append(&t->file, lines, &t->unknown,
					   &t->err);
}

static void look(uv_work_t *w)
{
	struct task *t = w->data;

	t->rc = line_file_has(&t->file, t->text.p, &t->err);
}

/* --- on the loop ------------------------------------------------------ */

static void run_next(struct channel *c);

static void hand_in(struct task *t)
{
	struct outcome o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1, "%s", "");
	struct parcel *next;

	if (t->rc)
		o = outcome_of(t->unknown ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL,
			       OPT_NONE, -1, "%s", t->err.text);
	for (struct parcel *p = t->first; p; p = next) {
		next = p->next;
		parcel_done(p, &o);
	}
}

static void task_free(struct task *t)
{
	buf_fini(&t->text);
	free(t->path);
	free(t);
}

static void done(uv_work_t *w, int status)
{
	struct task *t = w->data;
	struct channel *c = t->channel;
	struct sink *k;

	(void)status;
	if (c) {
		k = c->own;
		k->busy = NULL;
		hand_in(t);
		run_next(c);
	}
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
	t->path = strdup(k->path);
	t->file = (struct line_file){
		.path = t->path,
		.start = LINE_START "dlv_",
		.rotate = c->config.rotate,
		.keep = c->config.keep,
		.patience_ms = PATIENCE_MS,
	};
	t->end = &t->first;
	buf_init(&t->text, BATCH_MAX);
	return t;
}

static void run_next(struct channel *c)
{
	struct sink *k = c->own;

	if (k->busy || !k->next)
		return;
	k->busy = k->next;
	k->next = NULL;
	uv_queue_work(&c->sup->loop, &k->busy->work, append, done);
}

static void add_parcel(struct task *t, struct parcel *p)
{
	p->next = NULL;
	*t->end = p;
	t->end = &p->next;
}

static void add(struct channel *c, struct parcel *p)
{
	struct sink *k = c->own;

	if (!k->next)
		k->next = task_new(c);
	add_parcel(k->next, p);
	buf_add(&k->next->text, p->body.p, p->body.n);
}

static void sink_send(struct channel *c, struct parcel *p)
{
	struct outcome o;
	struct err e;

	if (wire_data(p, false, &p->body, &e) == 0 &&
	    buf_addc(&p->body, '\n') == 0) {
		add(c, p);
		return;
	}
	o = outcome_of(DELIVERY_EV_REFUSE, OPT_NONE, -1, "%s", e.text);
	parcel_done(p, &o);
}

/* --- what became of one ----------------------------------------------- */

static void take_look(struct sink *k, const struct task *t)
{
	struct task **at = &k->looks;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
}

static void looked(uv_work_t *w, int status)
{
	struct task *t = w->data;
	struct outcome o;

	(void)status;
	if (t->rc < 0)
		o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1, "%s",
			       t->err.text);
	else if (t->rc == 0)
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			       "the file does not have it");
	else
		o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1, "%s", "");
	if (t->channel) {
		take_look(t->channel->own, t);
		parcel_done(t->first, &o);
	}
	task_free(t);
}

static bool sink_ask(struct channel *c, struct parcel *p)
{
	struct sink *k = c->own;
	struct task *t = task_new(c);

	add_parcel(t, p);
	buf_addf(&t->text, LINE_START "%s\"", p->row.id);
	t->next = k->looks;
	k->looks = t;
	uv_queue_work(&c->sup->loop, &t->work, look, looked);
	return true;
}

/* --- life ------------------------------------------------------------- */

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

static void give_back(struct task *t, enum delivery_event event)
{
	struct outcome o = outcome_of(event, OPT_NONE, -1,
				      "the channel was closed");
	struct parcel *next;

	for (struct parcel *p = t->first; p; p = next) {
		next = p->next;
		parcel_done(p, &o);
	}
	t->first = NULL;
	t->channel = NULL;
}

/* A write that has begun goes on; whether it succeeds, nobody will hear. */
static void sink_close(struct channel *c)
{
	struct sink *k = c->own;

	if (k->busy)
		give_back(k->busy, uv_cancel((uv_req_t *)&k->busy->work)
					   ? DELIVERY_EV_LOSE
					   : DELIVERY_EV_FAIL);
	for (struct task *t = k->looks; t; t = t->next)
		give_back(t, DELIVERY_EV_LOSE);
	if (k->next) {
		give_back(k->next, DELIVERY_EV_FAIL);
		task_free(k->next);
	}
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
	.ask = sink_ask,
};
