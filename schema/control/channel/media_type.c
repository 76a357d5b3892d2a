#include "schema/control/channel/media_type.h"

#include "lib/base/text.h"

#include <ctype.h>
#include <string.h>

enum how { SURE, HINT };

static const struct {
	size_t at;
	const char *bytes;
	size_t n;
	const char *type;
	enum how how;
} magics[] = {
#define MEDIA_TYPE(at, bytes, n, type, how) {at, bytes, n, type, how},
#include "schema/control/channel/media_type.def"
#undef MEDIA_TYPE
};

static const char *sniff(struct blob b, enum how most)
{
	const char *p = b.p;

	for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
		if (magics[i].how <= most &&
		    b.n >= magics[i].at + magics[i].n &&
		    !memcmp(p + magics[i].at, magics[i].bytes, magics[i].n))
			return magics[i].type;
	return NULL;
}

static bool is_plain(struct blob b)
{
	const unsigned char *p = b.p;

	for (size_t i = 0; i < b.n; i++)
		if (p[i] < 32 && !strchr("\t\n\f\r", p[i]))
			return false;
	return b.n > 0 && !memchr(b.p, 0, b.n) && text_is_utf8(b.p, b.n);
}

/* RFC 6838: two names of letters, digits and a few other characters. */
static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) ||
	       (n > 0 && s[n] && strchr("!#$&-^_.+", s[n])))
		n++;
	return n;
}

static const char *declared_type(const char *text, char room[MEDIA_TYPE_MAX])
{
	size_t major = text ? name_length(text) : 0, n;

	if (!major || text[major] != '/')
		return NULL;
	n = name_length(text + major + 1);
	if (n == 0 || !strchr("; ", text[major + 1 + n]) ||
	    major + 1 + n >= MEDIA_TYPE_MAX)
		return NULL;
	n += major + 1;
	for (size_t i = 0; i < n; i++)
		room[i] = (char)tolower((unsigned char)text[i]);
	room[n] = '\0';
	return strcmp(room, MEDIA_ANY) == 0 ? NULL : room;
}

const char *media_type(const char *declared, struct blob bytes,
		       char room[MEDIA_TYPE_MAX])
{
	const char *type = sniff(bytes, SURE);

	if (!type)
		type = declared_type(declared, room);
	if (!type)
		type = sniff(bytes, HINT);
	if (!type)
		type = is_plain(bytes) ? "text/plain" : MEDIA_ANY;
	return type;
}
