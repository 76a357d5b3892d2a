#ifndef SUPERVISOR_CORE_SCHEDULES_H
#define SUPERVISOR_CORE_SCHEDULES_H

#include "supervisor/core/commands.h"

/*
 * The commands on schedules, by the rules of supervisor/core/commands.h. They
 * write rows; supervisor/schedule fires the slots.
 */

/* Creates or changes a schedule. The caller fills in the definition; the rest
 * of the row is ignored. */
int supervisor_schedule_put(struct supervisor *s,
			    const struct schedule_row *definition,
			    const char *by, struct completion done,
			    struct err *e);
/* Deletes a schedule with its log. What it started continues. */
int supervisor_schedule_delete(struct supervisor *s, const char *name,
			       const char *by, struct completion done,
			       struct err *e);
/* Resuming also confirms a held schedule. */
int supervisor_schedule_switch(struct supervisor *s, const char *name,
			       bool pause, const char *by,
			       struct completion done, struct err *e);
/* Fires now, beside the slots; `overlap` applies. */
int supervisor_schedule_fire(struct supervisor *s, const char *name,
			     const char *by, struct completion done,
			     struct err *e);

#endif
