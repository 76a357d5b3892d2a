#include "lib/time/cron.h"

#include "lib/time/civil.h"

/* The next time of an expression. */

#define DAY     86400
#define SEARCH  ((int64_t)10 * 366 * DAY)
#define BACK    60 /* seconds: the first step of cron_last */
#define NO_TIME INT64_MAX

static bool day_matches(const struct cron *c, const struct civil *t)
{
	bool day = c->days >> t->day & 1,
	     weekday = c->weekdays >> t->weekday & 1;

	if (!(c->months >> t->month & 1))
		return false;
	if (c->last_day && t->day == civil_month_days(t->year, t->month))
		day = true;
	if (c->any_day || c->any_weekday)
		return (c->any_day || day) && (c->any_weekday || weekday);
	return day || weekday;
}

static int64_t min_time(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- every hour --------------------------------------------------------- */

/* Goes through the time itself. A step ends at a change of the offset, since
 * after it the clocks show another time. */
static int64_t next_by_distance(const struct cron *c, const struct zone *z,
				int64_t after)
{
	int64_t at = after + 60 - ((after % 60) + 60) % 60;
	int64_t end = after + SEARCH;

	while (at < end) {
		int64_t offset = zone_offset(z, at);
		struct civil t = civil_from_seconds(at + offset);
		int64_t to;

		if (!day_matches(c, &t))
			to = at + DAY - t.hour * 3600 - t.minute * 60 -
			     t.second;
		else if (t.second)
			to = at + 60 - t.second;
		else if (c->minutes >> t.minute & 1)
			return at;
		else
			to = at + 60;
		at = min_time(to, zone_next_change(z, at));
	}
	return NO_TIME;
}

/* --- hours of the day ----------------------------------------------------- */

/* The point in time of a local time, see cron.h. */
static int64_t from_local(const struct zone *z, int64_t local)
{
	int64_t utc[2];

	(void)zone_from_local(z, local, utc);
	return utc[0];
}

/* A local day: the offset of all its times, unless clocks change in it. */
struct local_day {
	int64_t midnight; /* local */
	int64_t offset;
	bool has_change;
};

static struct local_day make_day(const struct zone *z, int64_t midnight)
{
	struct local_day d = {.midnight = midnight};
	int64_t begin = from_local(z, midnight);
	int64_t end = from_local(z, midnight + DAY);

	d.offset = zone_offset(z, begin);
	d.has_change = zone_next_change(z, begin - 1) <= end ||
		       zone_offset(z, begin - 1) != d.offset;
	return d;
}

/* The first time of a local day that is later than `after`. When clocks change,
 * later local times may be earlier points in time. */
static int64_t next_in_day(const struct cron *c, const struct zone *z,
			   const struct local_day *d, int64_t after)
{
	int64_t best = NO_TIME;

	for (int i = 0; i < 24 * 60; i++) {
		int64_t local = d->midnight + i * 60, at;

		if (!(c->hours >> i / 60 & 1)) {
			i += 59;
			continue;
		}
		if (!(c->minutes >> i % 60 & 1))
			continue;
		at = d->has_change ? from_local(z, local) : local - d->offset;
		if (at > after && at < best)
			best = at;
		if (best != NO_TIME && !d->has_change)
			break;
	}
	return best;
}

static int64_t next_by_clock(const struct cron *c, const struct zone *z,
			     int64_t after)
{
	int64_t local = after + zone_offset(z, after);
	int64_t midnight = local - ((local % DAY) + DAY) % DAY - DAY;

	for (; midnight < local + SEARCH; midnight += DAY) {
		struct civil t = civil_from_seconds(midnight);
		struct local_day day;
		int64_t at;

		if (!day_matches(c, &t))
			continue;
		day = make_day(z, midnight);
		at = next_in_day(c, z, &day, after);
		if (at != NO_TIME)
			return at;
	}
	return NO_TIME;
}

int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after)
{
	return c->every_hour ? next_by_distance(c, z, after)
			     : next_by_clock(c, z, after);
}

int64_t cron_last(const struct cron *c, const struct zone *z, int64_t until)
{
	for (int64_t back = BACK; back < SEARCH; back *= 2) {
		int64_t at = cron_next(c, z, until - back), next;

		if (at > until)
			continue;
		while ((next = cron_next(c, z, at)) <= until)
			at = next;
		return at;
	}
	return INT64_MIN;
}
