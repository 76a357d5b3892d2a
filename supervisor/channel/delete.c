#include "supervisor/channel/delete.h"
#include "supervisor/channel/internal.h"

#include "supervisor/channel/commands.h"
#include "supervisor/channel/plugin/plugin.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "schema/control/channel/channel_delete.h"

#include <stdlib.h>

#define STEP       16
#define AT_LEAST   16      /* steps; enough to delete most channels at once */
#define BATCH_NS   4000000 /* of a turn of the loop … */
#define PAUSE_MS   12      /* … then a pause for other work */
#define SUSPEND_MS 1000    /* after a failure */

struct channel_delete_job {
	uv_timer_t timer;
	struct channel_deletion at;
};

/* After a rollback the deletion starts again. */
static void restart_deletion(void *arg)
{
	struct supervisor *s = arg;

	s->channels->deletion->at = (struct channel_deletion){0};
}

struct gone {
	struct supervisor *sup;
	const char *name;
	bool with_log;
};

static void close_deleted(void *arg, const struct err *failed)
{
	const struct gone *g = arg;

	if (failed || g->sup->channels->closing)
		return;
	channel_reload(g->sup, g->name);
	if (g->with_log)
		plugin_delete_log_when_ended(g->sup, g->name);
}

static int log_channel_event(struct supervisor *s, const char *name,
			     const char *what, struct err *e)
{
	struct host_event_channel_in in = {clock_now(), name, what, NULL};
	struct gone *g = txn_alloc(&s->txn, sizeof *g);

	*g = (struct gone){s, txn_text(&s->txn, name),
			   s->channels->deletion->at.had_log};
	s->host_changed = true;
	txn_on_commit(&s->txn, close_deleted, g);
	return sql_exec(s->db, Q_HOST_EVENT_CHANNEL, &in, e) < 0 ? -1 : 0;
}

/* Deletes one batch in the transaction. Returns 1, 0 if the channel is deleted,
 * or -1. */
static int run_batch(struct supervisor *s, const char *name, struct err *e)
{
	int64_t until = clock_mono_ns() + BATCH_NS;
	struct channel_deletion *at = &s->channels->deletion->at;
	int n = 1;

	if (txn_begin(&s->txn, e))
		return -1;
	txn_on_rollback(&s->txn, restart_deletion, s);
	s->host_changed = true;
	at->waits = at->had_log = false;
	for (int i = 0;
	     n > 0 && !at->waits && (i < AT_LEAST || clock_mono_ns() < until);
	     i++)
		n = channel_delete_step(at, s->db, name, STEP, e);
	if (n == 0 && log_channel_event(s, name, "deleted", e))
		return -1;
	return n > 0 ? 1 : n;
}

static int delete_next_batch(struct supervisor *s, struct err *e)
{
	struct channel_deleting_row row;
	struct arena a = {0};
	int n = sql_get(s->db, Q_CHANNEL_DELETING, NULL, &row, &a, e);

	if (n == 1) {
		txn_try_begin(&s->txn);
		n = txn_try_end(&s->txn, run_batch(s, row.name, e), e) < 0 ? -1
									   : 1;
	}
	arena_fini(&a);
	return n;
}

static void on_timer(uv_timer_t *t)
{
	struct supervisor *s = t->data;
	struct err e;
	int n = delete_next_batch(s, &e);

	if (n < 0)
		log_error(LT("msg", "cannot delete a channel"),
			  LT("error", e.text));
	if (n != 0)
		uv_timer_start(t, on_timer, n > 0 ? PAUSE_MS : SUSPEND_MS, 0);
}

static int delete_channel(struct supervisor *s, const char *name,
			  const char *by, struct completion done, struct err *e)
{
	int left;

	if (txn_begin(&s->txn, e) || channel_delete_begin(s->db, name, by, e))
		return -1;
	left = run_batch(s, name, e);
	if (left < 0 ||
	    (left && log_channel_event(s, name, CHANNEL_DELETING, e)))
		return -1;
	if (left)
		uv_timer_start(&s->channels->deletion->timer, on_timer,
			       PAUSE_MS, 0);
	complete_later(s, done, name, true,
		       left ? "it is being removed" : "removed");
	return 0;
}

int supervisor_channel_delete(struct supervisor *s, const char *name,
			      const char *by, struct completion done,
			      struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_channel(s, name, by, done, e), e);
}

int channel_delete_open(struct supervisor *s, struct err *e)
{
	struct channel_delete_job *r = calloc(1, sizeof *r);

	(void)e;
	if (!r)
		abort();
	s->channels->deletion = r;
	uv_timer_init(&s->loop, &r->timer);
	r->timer.data = s;
	uv_timer_start(&r->timer, on_timer, PAUSE_MS, 0);
	uv_unref((uv_handle_t *)&r->timer);
	return 0;
}

static void deletion_closed(uv_handle_t *h)
{
	struct supervisor *s = h->data;

	free(s->channels->deletion);
	s->channels->deletion = NULL;
}

void channel_delete_close(struct supervisor *s)
{
	if (s->channels && s->channels->deletion)
		uv_close((uv_handle_t *)&s->channels->deletion->timer,
			 deletion_closed);
}
