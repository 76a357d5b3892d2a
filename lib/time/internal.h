#ifndef LIB_TIME_INTERNAL_H
#define LIB_TIME_INTERNAL_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* What the files of this directory share. */

/* One of the two yearly changes of a rule, as in POSIX TZ: the n-th weekday of a
 * month, or a day of the year, and a local time. */
struct zone_day {
	char form; /* 'M', 'J' (1 to 365, no leap day) or 'D' (0 to 365) */
	int month, week, weekday, day;
	int64_t time; /* seconds after midnight; may be negative */
};

/* "CET-1CEST,M3.5.0,M10.5.0/3": the offsets after the last listed change. */
struct zone_rule {
	bool has_dst;
	int64_t standard, dst; /* seconds to add to UTC */
	struct zone_day begin, end;
};

int zone_rule_parse(struct zone_rule *r, const char *text, struct err *e);
int64_t zone_rule_offset(const struct zone_rule *r, int64_t utc);
/* The first change after a time, or INT64_MAX. */
int64_t zone_rule_next(const struct zone_rule *r, int64_t utc);

#endif
