#include "supervisor/schedule/internal.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <string.h>

#define OPEN_MAX    100 /* targets that one slot cancels */
#define WAITING_MAX 100 /* waiting slots of a schedule */

/* --- targets ------------------------------------------------------------ */

static const char *tags_of(const struct schedule_row *row, struct arena *a)
{
	struct buf b = BUF_MAX(256);
	const char *text;

	json_begin_array(&b);
	json_add_text(&b, arena_printf(a, "schedule:%s", row->name));
	json_end_array(&b);
	text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

/* The key of a slot: another schedule of the same name has other ones. */
static const char *key_of(const struct schedule_row *row, int64_t slot,
			  struct arena *a)
{
	return arena_printf(a, "schedule:%s:%lld:%lld", row->name,
			    (long long)row->created_at, (long long)slot);
}

static int start_run(struct supervisor *s, const struct firing_request *f,
		     const char **target, struct arena *a, struct err *e)
{
	const struct schedule_row *row = f->row;
	struct run_request req = supervisor_run_defaults(s);
	struct completion no_reply = {0};
	struct run_by_key_in key = {row->agent, key_of(row, f->slot, a)};
	struct run_by_key_row run;
	int found;

	req.agent = row->agent;
	req.prompt = row->prompt;
	req.session = row->session;
	req.workspace = row->workspace;
	req.tags = tags_of(row, a);
	req.idem_key = key.idem_key;
	req.by = f->by;
	if (row->timeout_ms != OPT_NONE)
		req.run_timeout_ms = row->timeout_ms;
	if (supervisor_submit_run(s, &req, no_reply, e))
		return -1;
	found = sql_get(s->db, Q_RUN_BY_KEY, &key, &run, a, e);
	if (found == 0)
		return err_set(e, ERR_INTERNAL, "the run of a slot is missing");
	*target = found > 0 ? run.id : NULL;
	return found < 0 ? -1 : 0;
}

/* A target that cannot start leaves no row. */
static int start_target(struct supervisor *s, const struct firing_request *f,
			const char **target, struct arena *a, struct err *e)
{
	int rc;

	txn_try_begin(&s->txn);
	rc = start_run(s, f, target, a, e);
	if (rc == 0)
		rc = fault_point(FAULT_schedule_firing, e);
	return txn_try_end(&s->txn, rc, e);
}

/* --- the log -------------------------------------------------------------- */

int firing_log(struct supervisor *s, const struct schedule_row *row,
	       struct firing_add_in *in, struct err *e)
{
	struct host_event_add_in event = {.at = clock_now(),
					  .kind = "schedule",
					  .subject = row->name,
					  .agent = row->agent};

	in->schedule = row->name;
	in->at = event.at;
	if (sql_exec(s->db, Q_FIRING_ADD, in, e) < 0)
		return -1;
	return supervisor_log_event(s, &event, "state", in->outcome, e);
}

static int add_firing(struct supervisor *s, const struct firing_request *f,
		      const char *outcome, const char *reason,
		      const char *target, struct err *e)
{
	struct firing_add_in in = {.slot = f->slot,
				   .outcome = outcome,
				   .reason = reason,
				   .slots = 1,
				   .target = target,
				   .is_open = target != NULL};

	return firing_log(s, f->row, &in, e);
}

/* The result of a start is logged, whatever it is. */
static int start_and_log(struct supervisor *s, const struct firing_request *f,
			 struct arena *a, struct err *e)
{
	const char *target = NULL;
	struct err why;

	if (start_target(s, f, &target, a, &why) == 0)
		return add_firing(s, f, "fired", f->late, target, e) ? -1 : 1;
	log_warn(LT("msg", "a schedule cannot fire"),
		 LT("schedule", f->row->name), LT("error", why.text));
	return add_firing(s, f, "failed", why.text, NULL, e) ? -1 : 0;
}

/* --- overlap ---------------------------------------------------------------- */

static int cancel_open(struct supervisor *s, const struct firing_request *f,
		       const struct firing_open_row *open, int n, struct err *e)
{
	struct completion no_reply = {0};

	for (int i = 0; i < n; i++)
		if (supervisor_cancel_run(s, open[i].target,
					  "the next slot of its schedule fired",
					  f->by, no_reply, e) &&
		    e->code != ERR_CONFLICT && e->code != ERR_NOTFOUND)
			return -1;
	return 0;
}

/* Queues the slot behind its predecessor. */
static int add_waiting(struct supervisor *s, const struct firing_request *f,
		       const char *active, struct arena *a, struct err *e)
{
	struct firing_waiting_in key = {f->row->name};
	struct firing_waiting_row waiting;

	if (sql_get(s->db, Q_FIRING_WAITING, &key, &waiting, NULL, e) != 1)
		return -1;
	if (waiting.n >= WAITING_MAX)
		return add_firing(
			s, f, "skipped",
			arena_printf(a, "%d slots wait already", WAITING_MAX),
			NULL, e);
	return add_firing(s, f, "waiting",
			  arena_printf(a, "%s is still active", active), NULL,
			  e);
}

static int apply_overlap(struct supervisor *s, const struct firing_request *f,
			 const struct firing_open_row *open, int n,
			 struct arena *a, struct err *e)
{
	const char *overlap = f->row->overlap;

	if (!strcmp(overlap, "skip"))
		return add_firing(
			s, f, "skipped",
			arena_printf(a, "%s is still active", open[0].target),
			NULL, e);
	if (!strcmp(overlap, "queue")) {
		s->schedules->waiting = true;
		return add_waiting(s, f, open[0].target, a, e);
	}
	if (!strcmp(overlap, "cancel") && cancel_open(s, f, open, n, e))
		return -1;
	return start_and_log(s, f, a, e);
}

int fire_slot(struct supervisor *s, const struct firing_request *f,
	      struct err *e)
{
	struct firing_open_in key = {f->row->name, OPEN_MAX};
	struct firing_open_row *open;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_FIRING_OPEN, &key, OPEN_MAX, &open, &a, e);
	int rc = -1;

	if (n == 0)
		rc = start_and_log(s, f, &a, e);
	else if (n > 0)
		rc = apply_overlap(s, f, open, n, &a, e);
	arena_fini(&a);
	return rc;
}

int fire_waiting(struct supervisor *s, const struct schedule_row *row,
		 int64_t slot, struct err *e)
{
	struct firing_request f = {row, slot, NULL, row->submitted_by};
	struct firing_start_in in = {.schedule = row->name, .slot = slot};
	struct schedule_advance_in count = {.name = row->name,
					    .slot = row->slot,
					    .due_at = row->due_at,
					    .last_slot = OPT_NONE,
					    .fired = 1,
					    .now = clock_now()};
	struct arena a = {0};
	struct err why;
	int rc = start_target(s, &f, &in.target, &a, &why);

	in.outcome = rc ? "failed" : "fired";
	in.reason = rc ? why.text : "after the end of its predecessor";
	in.is_open = rc == 0;
	if (sql_exec(s->db, Q_FIRING_START, &in, e) < 0 ||
	    (rc == 0 && sql_exec(s->db, Q_SCHEDULE_ADVANCE, &count, e) < 0))
		rc = -1;
	else
		rc = 0;
	arena_fini(&a);
	return rc;
}
