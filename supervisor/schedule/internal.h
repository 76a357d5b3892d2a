#ifndef SUPERVISOR_SCHEDULE_INTERNAL_H
#define SUPERVISOR_SCHEDULE_INTERNAL_H

#include "schema/control/schedule.h"
#include "supervisor/core/supervisor.h"

#include <stdbool.h>
#include <stdint.h>

/* What the files of this directory share. */
struct schedules {
	uv_timer_t timer; /* fires at next_due */
	int64_t next_due; /* OPT_NONE: no schedule is active */
	bool stale;       /* next_due has to be read again */
	bool due;         /* a slot may be due */
	bool waiting;     /* a slot may wait for the end of a target */
	bool released;    /* a target has ended */
	bool set_back;    /* the clock may have been set back */
};

/* The rows have changed: next_due is read again after this turn. */
void schedules_changed(struct supervisor *s);

/* slots.c: handles the due slots of at most a few schedules. */
int slots_fire_due(struct supervisor *s, struct err *e);
/* Starts waiting slots whose predecessor has ended. */
int slots_start_waiting(struct supervisor *s, struct err *e);
/* Computes slots again that lie behind a clock that was set back. */
int slots_recompute(struct supervisor *s, struct err *e);

/* fire.c: adds a row of the log, and counts it. */
int firing_log(struct supervisor *s, const struct schedule_row *row,
	       struct firing_add_in *in, struct err *e);

/* fire.c: applies the policy of overlap, starts the target, and adds the row of
 * the log. `late` is a text for the log, or NULL. Returns 1 if something was
 * started, 0 or -1. */
struct firing_request {
	const struct schedule_row *row;
	int64_t slot;
	const char *late;
	const char *by;
};

int fire_slot(struct supervisor *s, const struct firing_request *f,
	      struct err *e);
/* Starts the target of a waiting slot. */
int fire_waiting(struct supervisor *s, const struct schedule_row *row,
		 int64_t slot, struct err *e);

#endif
