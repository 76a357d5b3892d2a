#ifndef SUPERVISOR_SCHEDULE_SCHEDULE_H
#define SUPERVISOR_SCHEDULE_SCHEDULE_H

#include "lib/base/err.h"

/*
 * Schedules as the composition root sees them. The commands on schedules are in
 * supervisor/core/schedules.h.
 */
struct supervisor;

/* Reads when the next slot is due. */
int schedules_open(struct supervisor *s, struct err *e);
void schedules_close(struct supervisor *s); /* before the last turn */
void schedules_free(struct supervisor *s);

/* Fires the slots that are due. */
void schedules_before_commit(struct supervisor *s);

/* Compares the clock with the next slot: a timer does not count the time in
 * which the machine slept. */
void schedules_tick(struct supervisor *s);

#endif
