#include "schema/agent/transcript/locator.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/session.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int bad(const char *text, const char *why, struct err *e)
{
	return err_set(e, ERR_USAGE,
		       "'%s' is not a locator (%sAGENT/SESSION): %s",
		       quoted(text).text, LOCATOR_SCHEME, why);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes p up to `end`; returns the number of bytes, or -1. */
static int decode_percent(const char *p, const char *end, char *out, size_t cap)
{
	size_t n = 0;

	while (p < end && n + 1 < cap) {
		if (*p == '%') {
			int hi = end - p > 2 ? hex(p[1]) : -1;
			int lo = hi >= 0 ? hex(p[2]) : -1;

			if (lo < 0 || hi * 16 + lo == 0)
				return -1;
			out[n++] = (char)(hi * 16 + lo);
			p += 3;
		} else {
			out[n++] = *p++;
		}
	}
	out[n] = '\0';
	return p < end ? -1 : (int)n;
}

/* The end of the session in a locator, without one ".jsonl". */
static const char *session_end(const char *from, const char *end)
{
	size_t n = strlen(LOCATOR_SUFFIX);

	return (size_t)(end - from) > n &&
			       strncmp(end - n, LOCATOR_SUFFIX, n) == 0
		       ? end - n
		       : end;
}

int locator_parse(const char *text, struct locator *out, struct err *e)
{
	size_t skip = strlen(LOCATOR_SCHEME);
	const char *agent = text + skip, *slash, *end, *mark;

	*out = (struct locator){0};
	if (strncmp(text, LOCATOR_SCHEME, skip) != 0)
		return bad(text, "another scheme", e);
	slash = strchr(agent, '/');
	if (!slash)
		return bad(text, "no session", e);
	mark = strchr(slash, '#');
	end = session_end(slash + 1, mark ? mark : slash + strlen(slash));
	if (decode_percent(agent, slash, out->agent, sizeof out->agent) < 0 ||
	    decode_percent(slash + 1, end, out->session, sizeof out->session) <
		    0)
		return bad(text, "too long, or a bad % sequence", e);
	if (text_check_name("agent", out->agent, e) ||
	    text_check_key("session key", out->session, SESSION_KEY_MAX, e))
		return -1;
	return mark ? text_i64("event number", mark + 1, 1, EVENT_SEQ_MAX,
			       &out->seq, e)
		    : 0;
}

void locator_text(const struct locator *l, struct buf *out)
{
	static const char plain[] = "-._~!$&'()*+,;=:@";
	size_t n;

	buf_addf(out, "%s%s/", LOCATOR_SCHEME, l->agent);
	for (const char *p = l->session; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if ((c < 0x80 && isalnum(c)) || strchr(plain, c))
			buf_addc(out, (char)c);
		else
			buf_addf(out, "%%%02X", c);
	}
	n = strlen(l->session);
	if (n > strlen(LOCATOR_SUFFIX) &&
	    strcmp(l->session + n - strlen(LOCATOR_SUFFIX), LOCATOR_SUFFIX) ==
		    0)
		buf_adds(out, LOCATOR_SUFFIX); /* one is ignored */
	if (l->seq > 0)
		buf_addf(out, "#%" PRId64, l->seq);
}
