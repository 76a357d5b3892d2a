#include "lib/os/log_line.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

SHAPE_DEFINE(log_line, LOG_LINE);

#define PLUGIN_FILE "channel-"
#define PLUGIN_NOTE "-- skepd "
#define MS_PER_S    1000

/* "2026-11-16T03:16:00.123Z"; 0: it is not a time. */
static int64_t read_time(const char *s)
{
	struct tm t = {0};
	int ms = 0;
	char z = 0;

	if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c", &t.tm_year, &t.tm_mon,
		   &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &ms,
		   &z) != 8 ||
	    z != 'Z')
		return 0;
	t.tm_year -= 1900;
	t.tm_mon--;
	return (int64_t)timegm(&t) * MS_PER_S + ms;
}

/* Copies a quoted value without its quotes; returns the end of it. */
static const char *read_quoted(const char *p, struct arena *a, const char **out)
{
	char *to = arena_alloc(a, strlen(p) + 1);

	*out = to;
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			*to++ = *p == 'n' ? ' ' : *p;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
	return *p ? p + 1 : p;
}

static const char *read_value(const char *p, struct arena *a, const char **out)
{
	size_t n = strcspn(p, " ");

	if (*p == '"')
		return read_quoted(p, a, out);
	*out = arena_textn(a, p, n);
	return p + n;
}

static const char *source_of(const char *prog)
{
	return strncmp(prog, "skep-", 5) == 0 ? prog + 5 : prog;
}

static void set_field(struct log_line *l, const char *key, const char *value)
{
	if (strcmp(key, "ts") == 0) {
		int64_t at = read_time(value);

		l->at = at ? at : l->at;
	} else if (strcmp(key, "level") == 0) {
		l->level = value;
	} else if (strcmp(key, "prog") == 0) {
		l->source = source_of(value);
	} else if (strcmp(key, "mod") == 0) {
		l->module = value;
	} else if (strcmp(key, "run") == 0) {
		l->run = value;
	} else if (strcmp(key, "msg") == 0) {
		l->message = value;
	}
}

static void parse_logfmt(const char *p, struct log_line *l, struct arena *a)
{
	while (*p) {
		size_t n = strcspn(p, "= ");
		const char *key, *value;

		if (p[n] != '=') {
			p += n + (p[n] == ' ');
			continue;
		}
		key = arena_textn(a, p, n);
		p = read_value(p + n + 1, a, &value);
		set_field(l, key, value);
		while (*p == ' ')
			p++;
	}
}

void log_line_parse(const char *file, const char *text, int64_t at,
		    struct log_line *out, struct arena *a)
{
	size_t n = strlen(file);

	*out = (struct log_line){.at = at, .line = text, .message = text};
	if (n > 4 && strcmp(file + n - 4, ".log") == 0)
		n -= 4;
	if (strncmp(file, PLUGIN_FILE, strlen(PLUGIN_FILE)) == 0) {
		out->source = arena_printf(a, "channel/%.*s",
					   (int)(n - strlen(PLUGIN_FILE)),
					   file + strlen(PLUGIN_FILE));
		if (strncmp(text, PLUGIN_NOTE, strlen(PLUGIN_NOTE)) == 0) {
			int64_t t = read_time(text + strlen(PLUGIN_NOTE));

			out->at = t ? t : at;
		}
	} else {
		out->source = arena_textn(a, file, n);
		if (strncmp(text, "ts=", 3) == 0)
			parse_logfmt(text, out, a);
	}
	out->level = out->level ? out->level : "info";
}

/* "run" is "run" or begins with "run/". */
static bool is_below(const char *path, const char *wanted)
{
	size_t n = strlen(wanted);

	return path && strncmp(path, wanted, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/');
}

bool log_line_matches(const struct log_line *l, const struct log_filter *f)
{
	return log_level_from(l->level) >= f->level &&
	       (!f->since || l->at >= f->since) &&
	       (!f->until || l->at < f->until) &&
	       (!f->source || is_below(l->source, f->source)) &&
	       (!f->module || is_below(l->module, f->module)) &&
	       (!f->run || (l->run && strcmp(l->run, f->run) == 0)) &&
	       (!f->text || strcasestr(l->line, f->text));
}
