#include "lib/time/zone.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/time/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1 << 20)
#define HEADER   44
#define TYPE_LEN 6

struct change {
	int64_t at;     /* seconds of UTC */
	int64_t offset; /* from then on */
};

struct zone {
	int64_t first; /* offset before the first change */
	int n;
	bool has_rule; /* after the last change */
	struct zone_rule rule;
	struct change changes[];
};

/* --- reading ---------------------------------------------------------- */

static int64_t big_endian(const unsigned char *p, int n)
{
	uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | p[i];
	return (int64_t)v;
}

struct header {
	int64_t isut, isstd, leap, times, types, chars;
};

/* The size of the data block that follows the header, or -1. */
static int64_t read_header(const unsigned char *p, size_t n, int time_len,
			   struct header *h)
{
	int64_t *counts[] = {&h->isut,  &h->isstd, &h->leap,
			     &h->times, &h->types, &h->chars};

	if (n < HEADER || memcmp(p, "TZif", 4) != 0)
		return -1;
	for (int i = 0; i < 6; i++) {
		*counts[i] = big_endian(p + 20 + 4 * i, 4);
		if (*counts[i] < 0 || *counts[i] > FILE_MAX)
			return -1;
	}
	return h->times * (time_len + 1) + h->types * TYPE_LEN + h->chars +
	       h->leap * (time_len + 4) + h->isstd + h->isut;
}

static struct zone *read_changes(const unsigned char *p, const struct header *h)
{
	const unsigned char *index = p + h->times * 8;
	const unsigned char *types = index + h->times;
	struct zone *z = calloc(1, sizeof *z + (size_t)h->times *
						       sizeof z->changes[0]);

	if (!z)
		abort();
	z->first = big_endian(types, 4);
	z->n = (int)h->times;
	for (int i = 0; i < z->n; i++) {
		if (index[i] >= h->types) {
			free(z);
			return NULL;
		}
		z->changes[i].at = big_endian(p + 8 * i, 8);
		z->changes[i].offset = big_endian(types + TYPE_LEN * index[i],
						  4);
	}
	return z;
}

/* The rule of the last line: "\nCET-1CEST,…\n". */
static int read_rule(struct zone *z, const char *p, size_t n, struct err *e)
{
	char text[128];

	if (n < 2 || p[0] != '\n' || p[1] == '\n')
		return 0;
	n = strcspn(p + 1, "\n");
	if (n >= sizeof text)
		return err_set(e, ERR_INVALID, "its rule is too long");
	memcpy(text, p + 1, n);
	text[n] = '\0';
	z->has_rule = true;
	return zone_rule_parse(&z->rule, text, e);
}

/* The first block has times of 32 bits and is skipped. */
static int read_file(struct zone **out, const struct buf *b, struct err *e)
{
	const unsigned char *p = (const unsigned char *)b->p;
	size_t left = b->n;
	struct header h;
	int64_t len = read_header(p, left, 4, &h);

	if (len < 0 || p[4] < '2' || left < HEADER + (size_t)len)
		return err_set(e, ERR_INVALID, "it is not a file of a zone");
	p += HEADER + len;
	left -= HEADER + (size_t)len;
	len = read_header(p, left, 8, &h);
	if (len < 0 || h.types < 1 || left < HEADER + (size_t)len)
		return err_set(e, ERR_INVALID, "it is not a file of a zone");
	*out = read_changes(p + HEADER, &h);
	if (!*out)
		return err_set(e, ERR_INVALID, "it is damaged");
	p += HEADER + len;
	left -= HEADER + (size_t)len;
	return read_rule(*out, (const char *)p, left, e);
}

/* Names have no dot components, so that they stay in the directory. */
static bool is_zone_name(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= ZONE_NAME_MAX && name[0] != '/' &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
			    "yz0123456789_+-/") == n;
}

int zone_open(struct zone **out, const char *name, struct err *e)
{
	const char *dir = getenv("TZDIR");
	struct buf b = BUF_MAX(FILE_MAX);
	char path[512];
	struct err why;
	int rc;

	*out = NULL;
	if (!strcmp(name, "UTC")) {
		*out = calloc(1, sizeof **out);
		if (!*out)
			abort();
		return 0;
	}
	if (!is_zone_name(name) ||
	    (size_t)snprintf(path, sizeof path, "%s/%s",
			     dir ? dir : "/usr/share/zoneinfo",
			     name) >= sizeof path)
		return err_set(e, ERR_INVALID,
			       "%s is not a name of a time "
			       "zone, such as Europe/Berlin",
			       quoted(name).text);
	rc = file_read(path, &b, &why) || read_file(out, &b, &why) ? -1 : 0;
	buf_fini(&b);
	if (rc) {
		zone_close(*out);
		*out = NULL;
		return err_set(e, ERR_INVALID,
			       "unknown time zone %s; names are those of the "
			       "directory %s, such as Europe/Berlin",
			       quoted(name).text,
			       dir ? dir : "/usr/share/zoneinfo");
	}
	return 0;
}

void zone_close(struct zone *z)
{
	free(z);
}

/* --- offsets ---------------------------------------------------------- */

/* The number of changes up to a time. */
static int changes_until(const struct zone *z, int64_t utc)
{
	int low = 0, high = z->n;

	while (low < high) {
		int mid = low + (high - low) / 2;

		if (z->changes[mid].at <= utc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int64_t zone_offset(const struct zone *z, int64_t utc)
{
	int i = changes_until(z, utc);

	if (i == z->n && z->has_rule)
		return zone_rule_offset(&z->rule, utc);
	return i ? z->changes[i - 1].offset : z->first;
}

int64_t zone_next_change(const struct zone *z, int64_t utc)
{
	int i = changes_until(z, utc);

	for (; i < z->n; i++)
		if (z->changes[i].offset != zone_offset(z, utc))
			return z->changes[i].at;
	if (!z->has_rule)
		return INT64_MAX;
	/* The rule says nothing about the time before the last change. */
	return zone_rule_next(&z->rule, z->n && z->changes[z->n - 1].at > utc
						? z->changes[z->n - 1].at
						: utc);
}

/* No zone is further than this from UTC. */
#define OFFSET_MAX (26 * 3600)

int zone_from_local(const struct zone *z, int64_t local, int64_t utc[2])
{
	int64_t at = local - OFFSET_MAX;
	int n = 0;

	utc[0] = utc[1] = local;
	while (at <= local + OFFSET_MAX && n < 2) {
		int64_t end = zone_next_change(z, at);
		int64_t candidate = local - zone_offset(z, at);

		if (candidate >= at && candidate < end)
			utc[n++] = candidate;
		else if (n == 0 && candidate >= end &&
			 local - zone_offset(z, end) < end)
			utc[0] = candidate;
		if (end == INT64_MAX)
			break;
		at = end;
	}
	return n;
}
