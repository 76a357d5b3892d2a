#include "supervisor/core/schedules.h"
#include "supervisor/schedule/internal.h"

#include "lib/base/clock.h"
#include "schema/control/control.h"

#include <string.h>

#define SCHEDULES_MAX 100000

/* The end of each command. */
static int finish_change(struct supervisor *s, const char *name,
			 const char *act, const char *note, const char *by,
			 struct completion done, struct err *e)
{
	if (control_audit(s->db, by, act, name, NULL, e))
		return -1;
	schedules_changed(s);
	complete_later(s, done, name, true, note);
	return 0;
}

static int check_count(struct supervisor *s, struct err *e)
{
	struct schedule_count_row count;

	if (sql_get(s->db, Q_SCHEDULE_COUNT, NULL, &count, NULL, e) != 1)
		return -1;
	if (count.n >= SCHEDULES_MAX)
		return err_set(e, ERR_RATELIMIT,
			       "there are %d schedules, the "
			       "maximum",
			       SCHEDULES_MAX);
	return 0;
}

static int put(struct supervisor *s, const struct schedule_row *definition,
	       const char *by, struct completion done, struct err *e)
{
	struct schedule_row row = *definition;
	int changed;

	row.submitted_by = by;
	if (s->stopping)
		return err_set(e, ERR_UNAVAILABLE, "skepd is shutting down");
	if ((row.agent && supervisor_agent_check(s, row.agent, e)) ||
	    txn_begin(&s->txn, e) || check_count(s, e))
		return -1;
	changed = schedule_put(s->db, &row, clock_now(), e);
	if (changed < 0)
		return -1;
	if (changed == 0) {
		complete_later(s, done, row.name, false, "unchanged");
		return 0;
	}
	return finish_change(s, row.name, "schedule.put", "stored", by, done,
			     e);
}

int supervisor_schedule_put(struct supervisor *s,
			    const struct schedule_row *definition,
			    const char *by, struct completion done,
			    struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, put(s, definition, by, done, e), e);
}

static int delete_schedule(struct supervisor *s, const char *name,
			   const char *by, struct completion done,
			   struct err *e)
{
	struct schedule_delete_in key = {name};
	struct schedule_row row;
	struct arena a = {0};
	int rc = schedule_get(s->db, name, &row, &a, e);

	arena_fini(&a);
	if (rc || txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_SCHEDULE_DELETE, &key, e) < 0)
		return -1;
	return finish_change(s, name, "schedule.delete", "deleted", by, done,
			     e);
}

int supervisor_schedule_delete(struct supervisor *s, const char *name,
			       const char *by, struct completion done,
			       struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_schedule(s, name, by, done, e), e);
}

static int switch_schedule(struct supervisor *s, const char *name, bool pause,
			   const char *by, struct completion done,
			   struct err *e)
{
	const char *note = pause ? "paused" : "resumed";
	int changed;

	if (txn_begin(&s->txn, e))
		return -1;
	changed = schedule_switch(s->db, name, pause, clock_now(), e);
	if (changed < 0)
		return -1;
	if (changed == 0) {
		complete_later(s, done, name, false,
			       pause ? "it was paused already"
				     : "it was not paused");
		return 0;
	}
	s->schedules->released = true;
	return finish_change(s, name,
			     pause ? "schedule.pause" : "schedule.resume", note,
			     by, done, e);
}

int supervisor_schedule_switch(struct supervisor *s, const char *name,
			       bool pause, const char *by,
			       struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn,
			   switch_schedule(s, name, pause, by, done, e), e);
}

/* The slot is the current millisecond, or the first one after it that has none
 * yet. */
static int fire_now(struct supervisor *s, const char *name, const char *by,
		    struct completion done, struct err *e)
{
	struct schedule_row row = {0};
	struct arena a = {0};
	struct firing_request f = {&row, clock_now(), "on request", by};
	struct schedule_advance_in count = {.name = name, .now = f.slot};
	struct firing_exists_in key = {name, f.slot};
	struct firing_exists_row known;
	int rc = schedule_get(s->db, name, &row, &a, e);

	if (rc == 0 && s->stopping)
		rc = err_set(e, ERR_UNAVAILABLE, "skepd is shutting down");
	if (rc == 0)
		rc = txn_begin(&s->txn, e);
	while (rc == 0 &&
	       sql_get(s->db, Q_FIRING_EXISTS, &key, &known, NULL, e) == 1)
		key.slot++;
	f.slot = key.slot;
	if (rc == 0)
		rc = fire_slot(s, &f, e);
	count.slot = row.slot;
	count.due_at = row.due_at;
	count.last_slot = f.slot;
	count.fired = rc;
	if (rc >= 0 && sql_exec(s->db, Q_SCHEDULE_ADVANCE, &count, e) < 0)
		rc = -1;
	arena_fini(&a);
	return rc < 0 ? -1
		      : finish_change(s, name, "schedule.fire",
				      rc ? "fired" : "not fired", by, done, e);
}

int supervisor_schedule_fire(struct supervisor *s, const char *name,
			     const char *by, struct completion done,
			     struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, fire_now(s, name, by, done, e), e);
}
