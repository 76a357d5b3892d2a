#ifndef SCHEMA_CONTROL_SCHEDULE_H
#define SCHEMA_CONTROL_SCHEDULE_H

#include "lib/base/err.h"
#include "lib/db/sql.h"
#include "lib/time/cron.h"
#include "schema/control_queries.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Schedules: their slots, and their rows. A slot is a point in time at which a
 * schedule fires. All times are milliseconds; OPT_NONE is no time.
 */
#define SCHEDULE_JITTER_MAX ((int64_t)24 * 3600 * 1000)
#define SCHEDULE_LOG_MAX    1000 /* rows of the log of a schedule */
#define SCHEDULE_NEXT_MAX   1000 /* slots that one request computes */

/* The rule of a schedule, ready for computing. Borrows the row. */
struct schedule_rule {
	const struct schedule_row *row;
	struct zone *zone;
	struct cron cron;
};

/* ERR_INVALID: the expression, the zone or the limits. */
int schedule_rule_open(struct schedule_rule *r, const struct schedule_row *row,
		       struct err *e);
void schedule_rule_close(struct schedule_rule *r);

/* The first slot after a time, within start and end; OPT_NONE: none. */
int64_t schedule_rule_next(const struct schedule_rule *r, int64_t after);
/* The last slot up to a time; OPT_NONE: none. */
int64_t schedule_rule_last(const struct schedule_rule *r, int64_t until);
/* The time of a slot with its jitter, which depends only on name and slot. */
int64_t schedule_due(const struct schedule_row *row, int64_t slot);

/* ERR_NOTFOUND */
int schedule_get(struct sql *db, const char *name, struct schedule_row *out,
		 struct arena *a, struct err *e);

/* Checks the definition and stores it; the state is computed from `now`. The
 * log is kept, and no slot of the log fires again. Returns 1, 0 if nothing
 * changed, or -1: ERR_INVALID, with the reason. In the caller's transaction. */
int schedule_put(struct sql *db, struct schedule_row *row, int64_t now,
		 struct err *e);

/* Pauses; or resumes, which also confirms a held schedule. Slots that passed in
 * the meantime do not fire. Returns 1, 0 if nothing changed, or -1. */
int schedule_switch(struct sql *db, const char *name, bool pause, int64_t now,
		    struct err *e);

/* Computes the next slot after `after` that is not in the log. */
int schedule_recompute(struct sql *db, const struct schedule_row *row,
		       int64_t after, int64_t now, struct err *e);

#endif
