#include "lib/time/internal.h"

#include "lib/base/text.h"
#include "lib/time/civil.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400

/* --- parsing ---------------------------------------------------------- */

struct cursor {
	const char *p;
	bool bad;
};

static int64_t read_number(struct cursor *c)
{
	int64_t n = 0;
	int digits = 0;

	for (; isdigit((unsigned char)*c->p) && digits < 4; digits++)
		n = n * 10 + (*c->p++ - '0');
	c->bad |= digits == 0;
	return n;
}

/* [+-]h[:m[:s]] as seconds */
static int64_t read_clock(struct cursor *c)
{
	int64_t sign = *c->p == '-' ? -1 : 1, n;

	if (*c->p == '-' || *c->p == '+')
		c->p++;
	n = read_number(c) * 3600;
	if (*c->p == ':') {
		c->p++;
		n += read_number(c) * 60;
	}
	if (*c->p == ':') {
		c->p++;
		n += read_number(c);
	}
	return sign * n;
}

static void skip_name(struct cursor *c)
{
	const char *begin = c->p;

	if (*c->p == '<') {
		c->p += strcspn(c->p, ">");
		c->bad |= *c->p != '>';
		c->p += *c->p == '>';
		return;
	}
	while (isalpha((unsigned char)*c->p))
		c->p++;
	c->bad |= c->p == begin;
}

static void expect(struct cursor *c, char ch)
{
	if (*c->p == ch)
		c->p++;
	else
		c->bad = true;
}

static struct zone_day read_day(struct cursor *c)
{
	struct zone_day d = {.form = 'D', .time = 2 * 3600};

	expect(c, ',');
	if (*c->p == 'M' || *c->p == 'J')
		d.form = *c->p++;
	if (d.form == 'M') {
		d.month = (int)read_number(c);
		expect(c, '.');
		d.week = (int)read_number(c);
		expect(c, '.');
		d.weekday = (int)read_number(c);
		c->bad |= d.month < 1 || d.month > 12 || d.week < 1 ||
			  d.week > 5 || d.weekday > 6;
	} else {
		d.day = (int)read_number(c);
	}
	if (*c->p == '/') {
		c->p++;
		d.time = read_clock(c);
	}
	return d;
}

int zone_rule_parse(struct zone_rule *r, const char *text, struct err *e)
{
	struct cursor c = {.p = text};

	*r = (struct zone_rule){0};
	skip_name(&c);
	r->standard = -read_clock(&c);
	if (!c.bad && *c.p) {
		r->has_dst = true;
		skip_name(&c);
		r->dst = *c.p == ',' || !*c.p ? r->standard + 3600
					      : -read_clock(&c);
		r->begin = read_day(&c);
		r->end = read_day(&c);
	}
	if (c.bad || *c.p)
		return err_set(e, ERR_INVALID, "%s is not a rule of a zone",
			       quoted(text).text);
	return 0;
}

/* --- changes ---------------------------------------------------------- */

/* Days since 1970 of this day in a year. */
static int64_t day_in_year(const struct zone_day *d, int64_t year)
{
	int64_t first = civil_days(year, 1, 1), day;
	int weekday;

	if (d->form == 'D')
		return first + d->day;
	if (d->form == 'J')
		return first + d->day - 1 +
		       (civil_month_days(year, 2) == 29 && d->day >= 60);
	first = civil_days(year, d->month, 1);
	weekday = (int)((first + 4) % 7);
	if (weekday < 0)
		weekday += 7;
	day = (d->weekday - weekday + 7) % 7 + (d->week - 1) * 7;
	if (day >= civil_month_days(year, d->month))
		day -= 7;
	return first + day;
}

/* The point in time of the begin or the end of DST in a year. */
static int64_t change_in_year(const struct zone_rule *r, int64_t year,
			      bool begin)
{
	const struct zone_day *d = begin ? &r->begin : &r->end;

	return day_in_year(d, year) * DAY + d->time -
	       (begin ? r->standard : r->dst);
}

int64_t zone_rule_offset(const struct zone_rule *r, int64_t utc)
{
	int64_t year, begin, end;

	if (!r->has_dst)
		return r->standard;
	year = civil_from_seconds(utc + r->standard).year;
	begin = change_in_year(r, year, true);
	end = change_in_year(r, year, false);
	if (begin < end)
		return utc >= begin && utc < end ? r->dst : r->standard;
	return utc >= end && utc < begin ? r->standard : r->dst;
}

int64_t zone_rule_next(const struct zone_rule *r, int64_t utc)
{
	int64_t year = civil_from_seconds(utc).year, best = INT64_MAX;

	if (!r->has_dst)
		return INT64_MAX;
	for (int64_t y = year - 1; y <= year + 1; y++)
		for (int begin = 0; begin < 2; begin++) {
			int64_t at = change_in_year(r, y, begin);

			if (at > utc && at < best)
				best = at;
		}
	return best;
}
