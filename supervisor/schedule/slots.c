#include "supervisor/schedule/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

#include <string.h>

/* Which slot of a schedule fires now, and which were missed. */

#define SCHEDULES_PER_TURN 100
#define MISSED_COUNT_MAX   1000  /* missed slots that are counted */
#define ON_TIME_MS         60000 /* a slot is not late before that */
#define TRIM_EVERY         100   /* slots between two trims of a log */

/* What passed since the row was written. */
struct passed {
	int64_t first;  /* the first missed slot */
	int64_t missed; /* number of missed slots, limited */
	int64_t newest; /* the newest slot that is due */
	int64_t next;   /* the first slot that is not due */
};

/* Only the newest slot can fire; those before it are missed. */
static void find_passed(const struct schedule_rule *r, int64_t now,
			struct passed *p)
{
	const struct schedule_row *row = r->row;
	int64_t last;

	*p = (struct passed){.first = row->slot, .newest = row->slot};
	p->next = schedule_rule_next(r, p->newest);
	while (p->next != OPT_NONE && schedule_due(row, p->next) <= now &&
	       p->missed < MISSED_COUNT_MAX) {
		p->missed++;
		p->newest = p->next;
		p->next = schedule_rule_next(r, p->newest);
	}
	if (p->next == OPT_NONE || schedule_due(row, p->next) > now)
		return;
	last = schedule_rule_last(r, now - row->jitter_ms);
	if (last != OPT_NONE && last > p->newest) {
		p->newest = last;
		p->next = schedule_rule_next(r, last);
	}
}

static int log_missed(struct supervisor *s, const struct schedule_row *row,
		      int64_t slot, int64_t slots, const char *reason,
		      struct err *e)
{
	struct firing_add_in in = {.slot = slot,
				   .outcome = "missed",
				   .reason = reason,
				   .slots = slots};

	return firing_log(s, row, &in, e);
}

/* Fires a slot, or misses it as the schedule says. Returns 1 if it started
 * something. */
static int handle_slot(struct supervisor *s, const struct schedule_row *row,
		       const struct passed *p, int64_t now, struct err *e)
{
	int64_t late = now - schedule_due(row, p->newest);
	struct firing_request f = {row, p->newest, NULL, row->submitted_by};
	char human[TEXT_HUMAN], text[128];

	if (late <= ON_TIME_MS)
		return fire_slot(s, &f, e);
	text_human_millis(late, human);
	if (!strcmp(row->missed, "skip")) {
		text_printf(text, sizeof text,
			    "%s late, and missed slots are skipped", human);
		return log_missed(s, row, p->newest, 1, text, e);
	}
	if (!strcmp(row->missed, "window") && late > row->window_ms) {
		text_printf(text, sizeof text,
			    "%s late, which is outside of its window", human);
		return log_missed(s, row, p->newest, 1, text, e);
	}
	text_printf(text, sizeof text, "%s late", human);
	f.late = text;
	return fire_slot(s, &f, e);
}

static int trim_log(struct supervisor *s, const struct schedule_row *row,
		    struct err *e)
{
	struct firing_trim_in in = {row->name, SCHEDULE_LOG_MAX};

	if (row->fired % TRIM_EVERY != 0)
		return 0;
	return sql_exec(s->db, Q_FIRING_TRIM, &in, e) < 0 ? -1 : 0;
}

static int handle_schedule(struct supervisor *s, const struct schedule_row *row,
			   int64_t now, struct err *e)
{
	struct schedule_advance_in next = {.name = row->name, .now = now};
	struct schedule_rule r;
	struct passed p;
	int rc;

	if (schedule_rule_open(&r, row, e))
		return -1;
	find_passed(&r, now, &p);
	schedule_rule_close(&r);
	if (p.missed && log_missed(s, row, p.first, p.missed,
				   "a later slot was due as well", e))
		return -1;
	rc = handle_slot(s, row, &p, now, e);
	if (rc < 0)
		return -1;
	next.slot = p.next;
	next.due_at = schedule_due(row, p.next);
	next.last_slot = p.newest;
	next.fired = rc;
	return sql_exec(s->db, Q_SCHEDULE_ADVANCE, &next, e) < 0 ||
			       trim_log(s, row, e)
		       ? -1
		       : 0;
}

/* A schedule that cannot be computed any more is held, with the reason: its
 * zone may have been removed. */
static int hold_schedule(struct supervisor *s, const struct schedule_row *row,
			 const char *why, struct err *e)
{
	struct schedule_switch_in in = {.name = row->name,
					.is_paused = row->is_paused,
					.held = why,
					.slot = row->slot,
					.due_at = OPT_NONE,
					.now = clock_now()};

	log_error(LT("msg", "a schedule is held"), LT("schedule", row->name),
		  LT("error", why));
	return sql_exec(s->db, Q_SCHEDULE_SWITCH, &in, e) < 0 ? -1 : 0;
}

int slots_fire_due(struct supervisor *s, struct err *e)
{
	struct schedule_due_in in = {clock_now(), SCHEDULES_PER_TURN};
	struct schedule_row *rows;
	struct arena a = {0};
	struct err why;
	int n, rc;

	n = sql_collect(s->db, Q_SCHEDULE_DUE, &in, SCHEDULES_PER_TURN, &rows,
			&a, e);
	rc = n < 0 ? -1 : 0;
	for (int i = 0; i < n && rc == 0; i++) {
		txn_try_begin(&s->txn);
		rc = txn_try_end(&s->txn,
				 handle_schedule(s, &rows[i], in.now, &why),
				 &why);
		if (rc && why.code == ERR_INVALID)
			rc = hold_schedule(s, &rows[i], why.text, e);
		else if (rc)
			*e = why;
	}
	arena_fini(&a);
	return rc;
}

int slots_start_waiting(struct supervisor *s, struct err *e)
{
	struct firing_ready_in in = {SCHEDULES_PER_TURN};
	struct firing_any_waiting_row any;
	struct firing_ready_row *rows;
	struct arena a = {0};
	int n, rc;

	n = sql_collect(s->db, Q_FIRING_READY, &in, SCHEDULES_PER_TURN, &rows,
			&a, e);
	rc = n < 0 ? -1 : 0;
	for (int i = 0; i < n && rc == 0; i++) {
		struct schedule_row row;

		rc = schedule_get(s->db, rows[i].schedule, &row, &a, e);
		if (rc == 0)
			rc = fire_waiting(s, &row, rows[i].slot, e);
	}
	if (rc == 0)
		rc = sql_get(s->db, Q_FIRING_ANY_WAITING, NULL, &any, NULL, e);
	if (rc >= 0)
		s->schedules->waiting = rc > 0;
	s->schedules->released = n == SCHEDULES_PER_TURN;
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

int slots_recompute(struct supervisor *s, struct err *e)
{
	int64_t now = clock_now();
	struct schedule_set_back_in in = {now + 1000, SCHEDULES_PER_TURN};
	struct schedule_row *rows;
	struct arena a = {0};
	int n, rc;

	n = sql_collect(s->db, Q_SCHEDULE_SET_BACK, &in, SCHEDULES_PER_TURN,
			&rows, &a, e);
	rc = n < 0 ? -1 : 0;
	for (int i = 0; i < n && rc == 0; i++)
		if (schedule_recompute(s->db, &rows[i], now, now, e))
			rc = e->code == ERR_INVALID
				     ? hold_schedule(s, &rows[i], e->text, e)
				     : -1;
	s->schedules->set_back = n == SCHEDULES_PER_TURN;
	arena_fini(&a);
	return rc;
}
