/*
 * file: each message is a line of JSON, on the disk before it counts as
 * delivered. Written in a thread, all that was claimed together at once. When a
 * crash leaves it open whether a line came, the file itself says so.
 */
#include "supervisor/channel.h"

#include "base/clock.h"
#include "base/file.h"
#include "supervisor/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MAX  (4u << 20) /* bytes at the end of a file that are searched */
#define BATCH_MAX (256u << 20)

struct task { /* the thread sees text and paths, the parcels are the loop's */
	uv_work_t work;
	struct channel *channel; /* NULL: it was closed meanwhile */
	struct buf text;
	char *path;
	int64_t rotate, keep;
	struct parcel *first;
	struct parcel **end;
	int rc;
	struct err err;
};

struct sink {
	char *path;
	struct task *next; /* being gathered */
	struct task *busy;
};

/* --- in the thread ---------------------------------------------------- */

static void shift(const struct task *t)
{
	char from[4200], to[4200];

	for (int64_t i = t->keep; i >= 1; i--) {
		snprintf(to, sizeof to, "%s.%lld", t->path, (long long)i);
		if (i > 1)
			snprintf(from, sizeof from, "%s.%lld", t->path,
				 (long long)i - 1);
		else
			snprintf(from, sizeof from, "%s", t->path);
		rename(from, to);
	}
}

/* A line that was cut off by a crash is ended, so that ours begins a new one. */
static int end_line(int fd, const char *path, struct err *e)
{
	off_t n = lseek(fd, 0, SEEK_END);
	char last = '\n';

	if (n > 0 && pread(fd, &last, 1, n - 1) != 1)
		return err_errno_set(e, "%s", path);
	return last == '\n' ? 0 : file_write_fd(fd, path, "\n", 1, e);
}

static int append(struct task *t, struct err *e)
{
	int fd, rc;

	if (file_size(t->path) >= t->rotate)
		shift(t);
	fd = open(t->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno_set(e, "%s", t->path);
	rc = buf_ok(&t->text, "the batch", e) || end_line(fd, t->path, e) ||
			     file_write_fd(fd, t->path, t->text.p, t->text.n, e)
		     ? -1
		     : 0;
	if (rc == 0 && fdatasync(fd))
		rc = err_errno_set(e, "%s", t->path);
	close(fd);
	return rc;
}

static void work(uv_work_t *w)
{
	struct task *t = w->data;

	t->rc = append(t, &t->err);
}

/* --- on the loop ------------------------------------------------------ */

static void run_next(struct channel *c);

static void hand_in(struct task *t)
{
	struct outcome o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1, "%s", "");
	struct parcel *next;

	if (t->rc)
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1, "%s",
			       t->err.text);
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
	t->rotate = c->config.rotate;
	t->keep = c->config.keep;
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
	uv_queue_work(&c->sup->loop, &k->busy->work, work, done);
}

static void add(struct channel *c, struct parcel *p)
{
	struct sink *k = c->own;

	if (!k->next)
		k->next = task_new(c);
	p->next = NULL;
	*k->next->end = p;
	k->next->end = &p->next;
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

/* Is there a whole line with this id near the end of the file? */
static bool has_line(const char *path, const char *id)
{
	struct buf b = BUF_MAX(LOOK_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char mark[64], *at = NULL;
	struct err ignored;
	off_t n;

	if (fd < 0)
		return false;
	n = lseek(fd, 0, SEEK_END);
	lseek(fd, n > LOOK_MAX ? n - LOOK_MAX : 0, SEEK_SET);
	snprintf(mark, sizeof mark, "{\"id\":\"%s\"", id);
	if (file_read_fd(fd, path, &b, &ignored) == 0)
		at = strstr(b.p, mark);
	at = at ? strchr(at, '\n') : NULL;
	close(fd);
	buf_fini(&b);
	return at != NULL;
}

static bool sink_ask(struct channel *c, struct parcel *p)
{
	const struct sink *k = c->own;
	char before[4200];
	struct outcome o;
	bool there;

	snprintf(before, sizeof before, "%s.1", k->path);
	there = has_line(k->path, p->row.id) || has_line(before, p->row.id);
	o = outcome_of(there ? DELIVERY_EV_ACK : DELIVERY_EV_FAIL, OPT_NONE, -1,
		       "%s", there ? "" : "the file does not have it");
	parcel_done(p, &o);
	return true;
}

static int sink_open(struct channel *c, struct err *e)
{
	struct sink *k = calloc(1, sizeof *k);
	struct home_path own = home_join(
		&c->sup->home, HOME_LOGS,
		arena_printf(&c->arena, "channel-%s.jsonl", c->name));

	if (!k)
		abort();
	k->path = strdup(c->config.path[0] ? c->config.path : own.text);
	if (k->path[0] != '/') {
		err_set(e, ERR_INVALID, "path is absolute, not %s", k->path);
		free(k->path);
		free(k);
		return -1;
	}
	c->own = k;
	return 0;
}

/* A write under way goes on; whether it succeeds, nobody will hear. */
static void sink_close(struct channel *c)
{
	struct outcome lost = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
					 "the channel was closed");
	struct outcome not = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
					"the channel was closed");
	struct sink *k = c->own;
	struct task *left[] = {k->busy, k->next};

	for (size_t i = 0; i < 2; i++) {
		struct parcel *next;

		for (struct parcel *p = left[i] ? left[i]->first : NULL; p;
		     p = next) {
			next = p->next;
			parcel_done(p, i ? &not : &lost);
		}
		if (left[i]) {
			left[i]->first = NULL;
			left[i]->channel = NULL;
		}
	}
	if (k->next)
		task_free(k->next);
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
