#ifndef LIB_TIME_TIME_TEXT_H
#define LIB_TIME_TIME_TEXT_H

#include "lib/base/err.h"
#include "lib/time/zone.h"

#include <stdint.h>

/*
 * A point in time as people write it: 2026-12-24, 2026-12-24T18:00,
 * 2026-12-24 18:00:30, each optionally followed by Z or an offset such as
 * +01:00. Without one, it is a time of the zone. The result is in milliseconds.
 * `what` is named in errors; ERR_INVALID.
 */
int time_parse(const char *what, const char *text, const struct zone *z,
	       int64_t *out, struct err *e);

#define TIME_TEXT 48
/* "2026-12-24 18:00:00 +01:00" into out, which holds TIME_TEXT bytes. */
const char *time_text(const struct zone *z, int64_t ms, char *out);

#endif
