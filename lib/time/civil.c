#include "lib/time/civil.h"

#define DAY        86400
#define CYCLE      400    /* years */
#define CYCLE_DAYS 146097 /* days of 400 years */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Years begin in March, so that the leap day is the last one. */
int64_t civil_days(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t cycle = floor_div(y, CYCLE), of_cycle = y - cycle * CYCLE;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day -
			  1;

	return cycle * CYCLE_DAYS + of_cycle * 365 + of_cycle / 4 -
	       of_cycle / 100 + of_year - 719468;
}

struct civil civil_from_seconds(int64_t t)
{
	int64_t days = floor_div(t, DAY), second = t - days * DAY;
	int64_t z = days + 719468;
	int64_t cycle = floor_div(z, CYCLE_DAYS),
		of_cycle = z - cycle * CYCLE_DAYS;
	int64_t year = (of_cycle - of_cycle / 1460 + of_cycle / 36524 -
			of_cycle / 146096) /
		       365;
	int64_t of_year = of_cycle - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	int64_t weekday = (days + 4) % 7;
	struct civil c = {
		.day = (int)(of_year - (153 * month + 2) / 5 + 1),
		.month = (int)(month < 10 ? month + 3 : month - 9),
		.weekday = (int)(weekday < 0 ? weekday + 7 : weekday),
		.hour = (int)(second / 3600),
		.minute = (int)(second / 60 % 60),
		.second = (int)(second % 60),
	};

	c.year = year + cycle * CYCLE + (c.month <= 2);
	return c;
}

int64_t civil_to_seconds(const struct civil *c)
{
	return civil_days(c->year, c->month, c->day) * DAY + c->hour * 3600 +
	       c->minute * 60 + c->second;
}

int civil_month_days(int64_t year, int month)
{
	int64_t first = civil_days(year, month, 1);

	return (int)((month == 12 ? civil_days(year + 1, 1, 1)
				  : civil_days(year, month + 1, 1)) -
		     first);
}
