#ifndef LIB_TIME_ZONE_H
#define LIB_TIME_ZONE_H

#include "lib/base/err.h"

#include <stdint.h>

/*
 * A time zone by its name, such as Europe/Berlin. It is read from the compiled
 * files of the tz database (RFC 8536) in /usr/share/zoneinfo, or in $TZDIR.
 * UTC needs no file. All times are seconds: since 1970 in UTC, or, for local
 * times, the seconds that a UTC clock with the same reading has counted.
 */
#define ZONE_NAME_MAX 64

struct zone;

/* ERR_INVALID: there is no such zone. */
int zone_open(struct zone **out, const char *name, struct err *e);
void zone_close(struct zone *z); /* accepts NULL */

/* Seconds to add to UTC. */
int64_t zone_offset(const struct zone *z, int64_t utc);

/* The first change of the offset after a time, or INT64_MAX. */
int64_t zone_next_change(const struct zone *z, int64_t utc);

/* The points in time at which clocks show a local time, earlier one first.
 * Returns their number: 0, 1 or 2. If clocks are put forward there is none;
 * utc[0] is then computed with the offset before that. */
int zone_from_local(const struct zone *z, int64_t local, int64_t utc[2]);

#endif
