#include "lib/time/cron.h"

#include "lib/base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX 256

static const struct field {
	const char *name;
	int min, max;
	const char *words; /* the first one is `min` */
} fields[] = {
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day of month", 1, 31, ""},
	{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
	{"day of week", 0, 7, "sun mon tue wed thu fri sat"},
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct alias {
	const char *name, *text;
} aliases[] = {
	{"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"},
	{"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
	{"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
	{"@hourly", "0 * * * *"},
};

static int field_error(const struct field *f, const char *text, const char *why,
		       struct err *e)
{
	return err_set(e, ERR_INVALID, "cron: the %s %s: %s", f->name,
		       quoted(text).text, why);
}

/* A number or the name of a month or day; -1 if it is neither. */
static int read_value(const struct field *f, const char **p)
{
	const char *at = *p;
	int n = 0;

	if (isalpha((unsigned char)*at)) {
		for (const char *w = f->words; *w; w += 3 + (w[3] == ' ')) {
			if (strncasecmp(w, at, 3) == 0 &&
			    !isalnum((unsigned char)at[3])) {
				*p = at + 3;
				return f->min + n;
			}
			n++;
		}
		return -1;
	}
	for (; isdigit((unsigned char)*at) && n < 1000; at++)
		n = n * 10 + (*at - '0');
	if (at == *p)
		return -1;
	*p = at;
	return n;
}

/* One item of a list: a star, a value or a range, and a step. */
static int read_item(const struct field *f, const char *text, const char **p,
		     uint64_t *set, struct err *e)
{
	int from = f->min, to = f->max, step = 1;
	bool ranged = true;

	if (**p == '*') {
		++*p;
	} else {
		from = to = read_value(f, p);
		ranged = **p == '-';
		if (ranged) {
			++*p;
			to = read_value(f, p);
		}
	}
	if (from < f->min || to < f->min || from > f->max || to > f->max)
		return field_error(f, text,
				   "a value is missing or out of range", e);
	if (from > to)
		return field_error(f, text, "a range goes backwards", e);
	if (**p == '/') {
		++*p;
		step = isdigit((unsigned char)**p) ? read_value(f, p) : 0;
		if (step < 1 || step > f->max)
			return field_error(f, text, "the step is out of range",
					   e);
		if (!ranged)
			to = f->max;
	}
	for (int v = from; v <= to; v += step)
		*set |= (uint64_t)1 << v;
	return 0;
}

static int read_field(struct cron *c, int i, const char *text, uint64_t *set,
		      struct err *e)
{
	const struct field *f = &fields[i];
	const char *p = text;

	*set = 0;
	for (;;) {
		if (i == DAY && (*p == 'L' || *p == 'l') &&
		    (p[1] == ',' || !p[1])) {
			c->last_day = true;
			p++;
		} else if (read_item(f, text, &p, set, e)) {
			return -1;
		}
		if (*p != ',')
			break;
		p++;
	}
	return *p ? field_error(f, text, "it is not a list of values", e) : 0;
}

static bool is_full(int i, uint64_t set)
{
	for (int v = fields[i].min; v <= fields[i].max; v++)
		if (!(set & (uint64_t)1 << v))
			return false;
	return true;
}

static void assign_fields(struct cron *c, uint64_t set[FIELDS])
{
	if (set[WEEKDAY] & 1 << 7 || set[WEEKDAY] & 1)
		set[WEEKDAY] |= 1 << 7 | 1;
	c->minutes = set[MINUTE];
	c->hours = (uint32_t)set[HOUR];
	c->days = (uint32_t)set[DAY];
	c->months = (uint32_t)set[MONTH];
	c->weekdays = (uint32_t)set[WEEKDAY];
	c->every_hour = is_full(HOUR, set[HOUR]);
	c->any_day = is_full(DAY, set[DAY]);
	c->any_weekday = is_full(WEEKDAY, set[WEEKDAY]);
}

/* The expression that a name such as @daily stands for, or NULL. */
static const char *expand_name(const char *text, struct err *e)
{
	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		if (!strcasecmp(aliases[i].name, text))
			return aliases[i].text;
	err_set(e, ERR_INVALID,
		"cron: unknown name %s; the names are @yearly, @annually, "
		"@monthly, @weekly, @daily, @midnight and @hourly",
		quoted(text).text);
	return NULL;
}

int cron_parse(struct cron *c, const char *text, struct err *e)
{
	char copy[TEXT_MAX], *save = NULL, *word;
	uint64_t set[FIELDS];
	int n = 0;

	*c = (struct cron){0};
	if (*text == '@')
		text = expand_name(text, e);
	if (!text)
		return -1;
	if (strlen(text) >= sizeof copy)
		return err_set(e, ERR_INVALID,
			       "cron: an expression has less than %d bytes",
			       TEXT_MAX);
	memcpy(copy, text, strlen(text) + 1);
	for (word = strtok_r(copy, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save)) {
		if (n < FIELDS && read_field(c, n, word, &set[n], e))
			return -1;
		n++;
	}
	if (n != FIELDS)
		return err_set(e, ERR_INVALID,
			       "cron: %s has %d fields; an expression has 5: "
			       "minute, hour, day of month, month, day of week",
			       quoted(text).text, n);
	assign_fields(c, set);
	return 0;
}
