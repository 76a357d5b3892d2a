#ifndef LIB_TIME_CRON_H
#define LIB_TIME_CRON_H

#include "lib/base/err.h"
#include "lib/time/zone.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Cron expressions: minute, hour, day of month, month, day of week, or one of
 * the names @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly.
 * A field is a list of values, of ranges a-b and of a star, both optionally with
 * a step, a-b/n; months and days of the week have names (jan, mon), and 0 and 7
 * are Sunday. L in the day of month is the last day of the month. If both days
 * are restricted, either of them suffices.
 *
 * Times that do not exist, since clocks are put forward, are read with the offset
 * before that: 02:30 becomes 03:30. Times that exist twice, since clocks are put
 * back, count the first time. Both as in RFC 5545. An expression with every hour
 * means an interval: times that do not exist are left out, and times that
 * exist twice count twice.
 */
struct cron {
	uint64_t minutes;
	uint32_t hours, days, months, weekdays;
	bool last_day;    /* L */
	bool every_hour;  /* the hour is not restricted */
	bool any_day;     /* the day of month is not restricted */
	bool any_weekday; /* the day of week is not restricted */
};

/* ERR_INVALID, naming the field. */
int cron_parse(struct cron *c, const char *text, struct err *e);

/* The first time after `after`, in seconds of UTC; INT64_MAX: there is none
 * within ten years. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after);

/* The last time up to and including `until`; INT64_MIN: none in ten years. */
int64_t cron_last(const struct cron *c, const struct zone *z, int64_t until);

#endif
