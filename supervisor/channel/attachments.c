#include "supervisor/channel/attachments.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "schema/agent/media.h"
#include "schema/agent/transcript/event.h"
#include "schema/control/channel/attachment.h"

#include <stdlib.h>

#define GC_TICKS   8
#define GC_ROWS    100
#define OWNERS_MAX 100000

/* --- limits ----------------------------------------------------------- */

static void gc_later(struct supervisor *s, const struct hint *h)
{
	(void)h;
	s->channels->media.gc = true;
}

int channel_media_open(struct supervisor *s, struct err *e)
{
	on_hint(s, HINT_ATTACHMENTS, gc_later);
	return supervisor_attachments_count(s, e);
}

int channel_attach(struct supervisor *s, const struct channel *c, cJSON *body,
		   struct err *e)
{
	struct media_limits l = {EVENT_BODY_MAX, EVENT_BODY_MAX, 0};

	if (c) {
		l.one = c->config.media_max;
		l.all = c->config.media_sum;
	}
	return supervisor_attach(s, l, body, e);
}

/* --- files ------------------------------------------------------------ */

struct home_path channel_media_dir(const struct channel *c)
{
	return home_join(&c->sup->home, HOME_MEDIA, c->id);
}

struct gc_task {
	uv_work_t work;
	struct home_path dir;
	int64_t age;
};

static void gc_files(uv_work_t *w)
{
	struct gc_task *p = w->data;
	struct err e;

	if (media_gc(p->dir.text, p->age, &e) < 0)
		log_warn(LT("msg", "cannot collect unused attachments"),
			 LT("error", e.text));
}

static void gc_done(uv_work_t *w, int status)
{
	(void)status;
	free(w->data);
}

/* Creates or touches the files of active runs, so that they do not expire. */
static int touch_files(struct supervisor *s, const char *dir, struct err *e)
{
	struct media_in_use_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_MEDIA_IN_USE, NULL, OWNERS_MAX, &rows, &a,
			    e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n && rc == 0; i++)
		rc = attachments_materialise(s->db, rows[i].owner, dir, e);
	arena_fini(&a);
	return rc;
}

static void gc(struct supervisor *s)
{
	struct channels *k = s->channels;
	int64_t now = (int64_t)uv_now(&s->loop);
	struct gc_task *p = calloc(1, sizeof *p);
	struct err e;

	if (!p)
		abort();
	p->work.data = p;
	p->dir = home_path(&s->home, HOME_MEDIA);
	p->age = s->config.channel_media_age;
	if (now >= k->media.touch_at_ms) {
		k->media.touch_at_ms = now + p->age / 4;
		if (touch_files(s, p->dir.text, &e))
			log_warn(LT("msg", "cannot collect unused attachments"),
				 LT("error", e.text));
	}
	uv_queue_work(&s->loop, &p->work, gc_files, gc_done);
}

/* --- rows ------------------------------------------------------------- */

/* Deletes unused rows among the next GC_ROWS after the cursor. Returns their
 * number; the cursor is "" at the end of the table. */
static int gc_batch(struct supervisor *s, unsigned next, unsigned remove,
		    char cursor[ID_SIZE], struct err *e)
{
	struct media_next_in in = {cursor, GC_ROWS};
	struct media_next_row row = {0};
	struct arena a = {0};
	int n = sql_get(s->db, next, &in, &row, &a, e) < 0 ? -1 : 0;

	if (n == 0 && row.last)
		n = sql_exec(s->db, remove,
			     &(struct media_gc_in){cursor, row.last}, e);
	snprintf(cursor, ID_SIZE, "%s", n >= 0 && row.last ? row.last : "");
	arena_fini(&a);
	return n;
}

/* Deletes attachments that no message uses: first the uses, then the contents,
 * one batch at a time. */
static void gc_rows(struct supervisor *s)
{
	struct channel_media *m = &s->channels->media;
	struct err e;
	int n = -1;

	if (!m->gc_running)
		m->gc = false; /* a later request starts another one */
	m->gc_running = true;
	if (txn_begin(&s->txn, &e) == 0)
		n = m->in_bytes ? gc_batch(s, Q_MEDIA_NEXT, Q_MEDIA_GC,
					   m->cursor, &e)
				: gc_batch(s, Q_MEDIA_USE_NEXT, Q_MEDIA_USE_GC,
					   m->cursor, &e);
	if (n < 0)
		log_warn(LT("msg", "cannot collect unused attachments"),
			 LT("error", e.text));
	s->attachments.stale |= m->in_bytes && n > 0;
	if (m->cursor[0])
		return;
	m->gc_running = !m->in_bytes && n >= 0;
	m->in_bytes = m->gc_running;
}

void channel_media_tick(struct supervisor *s)
{
	const struct channel_media *m = &s->channels->media;

	if (s->ticks % GC_TICKS == 0)
		gc(s);
	if ((m->gc || m->gc_running) &&
	    s->channels->suspended_until <= clock_now())
		gc_rows(s);
}
