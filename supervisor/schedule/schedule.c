#include "supervisor/schedule/schedule.h"
#include "supervisor/schedule/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <stdlib.h>

#define TIMER_MAX_MS 3600000
#define RETRY_MS     1000 /* after an error */

static void on_slot_timer(uv_timer_t *t)
{
	struct supervisor *s = t->data;

	s->schedules->due = true;
}

static void set_timer(struct supervisor *s)
{
	struct schedules *x = s->schedules;
	int64_t wait;

	if (x->next_due == OPT_NONE) {
		uv_timer_stop(&x->timer);
		return;
	}
	wait = x->next_due - clock_now();
	if (wait < 0)
		wait = 0;
	uv_timer_start(&x->timer, on_slot_timer,
		       (uint64_t)(wait < TIMER_MAX_MS ? wait : TIMER_MAX_MS),
		       0);
}

/* Reads the committed rows. */
static void read_next(void *arg, const struct err *failed)
{
	struct supervisor *s = arg;
	struct schedule_next_due_row row = {.due_at = OPT_NONE};
	struct err e;

	(void)failed;
	if (!s->schedules || !s->schedules->stale)
		return;
	s->schedules->stale = false;
	if (sql_get(s->db, Q_SCHEDULE_NEXT_DUE, NULL, &row, NULL, &e) < 0) {
		log_error(LT("msg", "cannot read the next slot"),
			  LT("error", e.text));
		row.due_at = clock_now() + RETRY_MS;
	}
	s->schedules->next_due = row.due_at;
	set_timer(s);
}

void schedules_changed(struct supervisor *s)
{
	if (s->schedules->stale)
		return;
	s->schedules->stale = true;
	txn_on_commit(&s->txn, read_next, s);
}

/* --- the turn ------------------------------------------------------------- */

static int advance(struct supervisor *s, struct err *e)
{
	struct schedules *x = s->schedules;

	if (txn_begin(&s->txn, e) || (x->set_back && slots_recompute(s, e)) ||
	    (x->due && slots_fire_due(s, e)))
		return -1;
	return x->waiting && x->released ? slots_start_waiting(s, e) : 0;
}

void schedules_before_commit(struct supervisor *s)
{
	struct schedules *x = s->schedules;
	struct err e;
	int rc;

	/* NULL: skepd stops before it has started */
	if (!x || s->stopping ||
	    !(x->due || x->set_back || (x->waiting && x->released)))
		return;
	schedules_changed(s);
	txn_try_begin(&s->txn);
	rc = txn_try_end(&s->txn, advance(s, &e), &e);
	x->due = false;
	if (rc == 0)
		return;
	log_error(LT("msg", "schedules cannot be fired"), LT("error", e.text));
	x->set_back = x->released = true; /* the next tick tries again */
}

void schedules_tick(struct supervisor *s)
{
	struct schedules *x = s->schedules;

	if (x->stale)
		read_next(s, NULL);
	if (x->next_due != OPT_NONE && x->next_due <= clock_now())
		x->due = true;
}

/* --- hints ------------------------------------------------------------------ */

/* What waited for the target can start after the commit. */
static void on_released(void *arg, const struct err *failed)
{
	struct supervisor *s = arg;

	(void)failed;
	if (!s->schedules)
		return;
	s->schedules->released = true;
	uv_timer_start(&s->schedules->timer, on_slot_timer, 0, 0);
}

static void on_run_ended(struct supervisor *s, const struct hint *h)
{
	(void)h;
	if (s->schedules->waiting)
		txn_on_commit(&s->txn, on_released, s);
}

static void on_clock_set(struct supervisor *s, const struct hint *h)
{
	s->schedules->set_back |= h->by_ms < 0;
	schedules_changed(s);
}

int schedules_open(struct supervisor *s, struct err *e)
{
	struct schedules *x = calloc(1, sizeof *x);

	(void)e;
	if (!x)
		abort();
	s->schedules = x;
	x->next_due = OPT_NONE;
	uv_timer_init(&s->loop, &x->timer);
	x->timer.data = s;
	on_hint(s, HINT_RUN_ENDED, on_run_ended);
	on_hint(s, HINT_CLOCK_SET, on_clock_set);
	if (s->read_only)
		return 0;
	x->set_back = x->waiting = x->released = x->due = true;
	return 0;
}

void schedules_close(struct supervisor *s)
{
	if (s->schedules)
		uv_close((uv_handle_t *)&s->schedules->timer, NULL);
}

void schedules_free(struct supervisor *s)
{
	free(s->schedules);
	s->schedules = NULL;
}
