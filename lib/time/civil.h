#ifndef LIB_TIME_CIVIL_H
#define LIB_TIME_CIVIL_H

#include <stdint.h>

/* Dates of the Gregorian calendar and seconds since 1970, without a zone. */
struct civil {
	int64_t year;
	int month;   /* 1 to 12 */
	int day;     /* 1 to 31 */
	int weekday; /* 0: Sunday */
	int hour, minute, second;
};

struct civil civil_from_seconds(int64_t t);
/* Ignores the day of the week. The day may be out of its range. */
int64_t civil_to_seconds(const struct civil *c);

/* Days since 1970. */
int64_t civil_days(int64_t year, int month, int day);
int civil_month_days(int64_t year, int month);

#endif
