#include "lib/time/time_text.h"

#include "lib/base/text.h"
#include "lib/time/civil.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads one number of exactly n digits. */
static bool read_digits(const char **p, int n, int *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, ++*p) {
		if (**p < '0' || **p > '9')
			return false;
		*out = *out * 10 + (**p - '0');
	}
	return true;
}

static bool read_date(const char **p, struct civil *c)
{
	int year;

	if (!read_digits(p, 4, &year) || *(*p)++ != '-' ||
	    !read_digits(p, 2, &c->month) || *(*p)++ != '-' ||
	    !read_digits(p, 2, &c->day))
		return false;
	c->year = year;
	return c->month >= 1 && c->month <= 12 && c->day >= 1 &&
	       c->day <= civil_month_days(c->year, c->month);
}

static bool read_time(const char **p, struct civil *c)
{
	if (**p != 'T' && **p != ' ')
		return true;
	++*p;
	if (!read_digits(p, 2, &c->hour) || *(*p)++ != ':' ||
	    !read_digits(p, 2, &c->minute))
		return false;
	if (**p == ':') {
		++*p;
		if (!read_digits(p, 2, &c->second))
			return false;
	}
	if (**p == '.') /* fractions are dropped */
		*p += 1 + strspn(*p + 1, "0123456789");
	return c->hour < 24 && c->minute < 60 && c->second < 60;
}

/* Z or +01:00; *has says whether there is one. */
static bool read_offset(const char **p, int64_t *offset, bool *has)
{
	int sign = **p == '-' ? -1 : 1, hours, minutes;

	*has = **p == 'Z' || **p == 'z' || **p == '+' || **p == '-';
	*offset = 0;
	if (!*has)
		return true;
	if (**p == 'Z' || **p == 'z') {
		++*p;
		return true;
	}
	++*p;
	if (!read_digits(p, 2, &hours))
		return false;
	*p += **p == ':';
	if (!read_digits(p, 2, &minutes))
		return false;
	*offset = sign * (hours * 3600 + minutes * 60);
	return hours < 24 && minutes < 60;
}

int time_parse(const char *what, const char *text, const struct zone *z,
	       int64_t *out, struct err *e)
{
	struct civil c = {0};
	const char *p = text;
	int64_t offset, utc[2], local;
	bool has;

	if (!read_date(&p, &c) || !read_time(&p, &c) ||
	    !read_offset(&p, &offset, &has) || *p)
		return err_set(e, ERR_INVALID,
			       "%s: %s is not a time; write it as 2026-12-24, "
			       "2026-12-24T18:00 or 2026-12-24T18:00:00+01:00",
			       what, quoted(text).text);
	local = civil_to_seconds(&c);
	if (has)
		*out = (local - offset) * 1000;
	else if (zone_from_local(z, local, utc))
		*out = utc[0] * 1000;
	else
		return err_set(e, ERR_INVALID,
			       "%s: %s does not exist in this time zone, since "
			       "the clocks are put forward",
			       what, quoted(text).text);
	return 0;
}

const char *time_text(const struct zone *z, int64_t ms, char *out)
{
	int64_t s = ms / 1000 - (ms % 1000 < 0), offset = zone_offset(z, s);
	struct civil c = civil_from_seconds(s + offset);
	int64_t minutes = llabs(offset) / 60;

	snprintf(out, TIME_TEXT,
		 "%04" PRId64 "-%02d-%02d %02d:%02d:%02d %c%02d:%02d", c.year,
		 c.month, c.day, c.hour, c.minute, c.second,
		 offset < 0 ? '-' : '+', (int)(minutes / 60),
		 (int)(minutes % 60));
	return out;
}
