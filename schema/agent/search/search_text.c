#include "schema/agent/search/search_text.h"

#include "lib/base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static void add_fitting(struct buf *out, const char *p, size_t n)
{
	size_t room = out->max - out->n;

	buf_add(out, p, n < room ? n : room);
}

void search_text_plain(const char *text, struct buf *out)
{
	if (!text || !*text)
		return;
	add_fitting(out, text, strlen(text));
	add_fitting(out, "\n", 1);
}

/* --- strings of JSON -------------------------------------------------- */

enum member { PLAIN, WANTED, SKIPPED };

static enum member member_of(const char *name, size_t n)
{
	static const struct {
		const char *name;
		enum member what;
	} members[] = {
#define SEARCH_MEMBER(name)  {#name, WANTED},
#define SEARCH_SKIPPED(name) {#name, SKIPPED},
#include "schema/agent/search/search.def"
#undef SEARCH_MEMBER
#undef SEARCH_SKIPPED
	};

	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
		if (strlen(members[i].name) == n &&
		    memcmp(members[i].name, name, n) == 0)
			return members[i].what;
	return PLAIN;
}

/* The value of four hex digits after \u; -1 if they are invalid. */
static int32_t hex4(const char *p)
{
	int32_t v = 0;

	for (int i = 0; i < 4; i++) {
		int c = tolower((unsigned char)p[i]);

		if (!isxdigit(c))
			return -1;
		v = v * 16 + (isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	return v;
}

static void add_code_point(struct buf *out, int32_t c)
{
	char u[4];
	size_t n = 0;

	if (c < 0x80) {
		u[n++] = (char)(c ? c : ' ');
	} else if (c < 0x800) {
		u[n++] = (char)(0xc0 | c >> 6);
		u[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		u[n++] = (char)(0xe0 | c >> 12);
		u[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		u[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		u[n++] = (char)(0xf0 | c >> 18);
		u[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		u[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		u[n++] = (char)(0x80 | (c & 0x3f));
	}
	add_fitting(out, u, n);
}

/* \uXXXX, possibly with its second half; p is at the u. Returns the position
 * after it. */
static const char *add_unicode(struct buf *out, const char *p)
{
	int32_t c = hex4(p + 1), low;

	if (c < 0)
		return p + 1;
	p += 5;
	if (c >= 0xd800 && c < 0xe000) {
		low = c < 0xdc00 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2)
								: -1;
		if (low < 0xdc00 || low >= 0xe000) {
			add_code_point(out, 0xfffd);
			return p;
		}
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	}
	add_code_point(out, c);
	return p;
}

/* An escape; p is after the backslash. */
static const char *add_escape(struct buf *out, const char *p)
{
	switch (*p) {
	case '\0':
		return p;
	case 'u':
		return add_unicode(out, p);
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		add_fitting(out, "\n", 1);
		return p + 1;
	default:
		add_fitting(out, p, 1);
		return p + 1;
	}
}

/* p is after the opening quote; returns the position after the closing one. */
static const char *skip_string(const char *p)
{
	for (; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

static void add_string(struct buf *out, const char *p)
{
	while (*p && *p != '"') {
		size_t n = strcspn(p, "\"\\");

		add_fitting(out, p, n);
		p += n;
		if (*p == '\\')
			p = add_escape(out, p + 1);
	}
	add_fitting(out, "\n", 1);
}

/*
 * No tree is built and nothing recurses: a string before a colon is a name, and
 * below a selected member everything is selected until its depth is left.
 */
struct scan {
	int64_t depth;
	int64_t wanted;   /* selected from this depth on */
	enum member next; /* the next value belongs to it */
	bool all;
};

static void scan_bracket(struct scan *s, char c)
{
	if (c == '{' || c == '[') {
		s->depth++;
		if (s->next == WANTED && s->depth < s->wanted)
			s->wanted = s->depth;
	} else if (c == '}' || c == ']') {
		s->depth--;
		if (!s->all && s->depth < s->wanted)
			s->wanted = INT64_MAX;
	}
	if (c != ':' && !isspace((unsigned char)c))
		s->next = PLAIN;
}

static bool is_wanted(const struct scan *s)
{
	if (s->all || s->next == WANTED)
		return true;
	return s->depth >= s->wanted && s->next != SKIPPED;
}

void search_text_json(const char *json, bool all, struct buf *out)
{
	struct scan s = {.wanted = INT64_MAX, .all = all};
	const char *p = json;

	while (p && *p) {
		const char *from = p + 1;

		if (*p != '"') {
			scan_bracket(&s, *p++);
			continue;
		}
		p = skip_string(from);
		if (p[strspn(p, " \t\r\n")] == ':')
			s.next = member_of(from, (size_t)(p - 1 - from));
		else if (is_wanted(&s))
			add_string(out, from);
	}
}

/* --- search expressions of users --------------------------------------- */

/* Characters beyond ASCII that are no tokens for FTS5's unicode61: marks and
 * symbols. If a rare one is missing here, a search for it finds nothing. */
static bool is_symbol(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{0x80, 0xa9},      {0xab, 0xb1},     {0xb4, 0xb4},
		{0xb6, 0xb8},      {0xbb, 0xbb},     {0xbf, 0xbf},
		{0xd7, 0xd7},      {0xf7, 0xf7},     {0x2000, 0x206f},
		{0x20a0, 0x20c0},  {0x2190, 0x245f}, {0x2500, 0x2775},
		{0x2794, 0x2bff},  {0x3000, 0x3004}, {0x3008, 0x3020},
		{0x3030, 0x3030},  {0xfe00, 0xfe6f}, {0xff01, 0xff0f},
		{0xff1a, 0xff20},  {0xfff0, 0xffff}, {0x1f000, 0x1f0ff},
		{0x1f300, 0x1faff}};

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static uint32_t code_point(const unsigned char *p, size_t n)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = p[0] & first[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Whether FTS5 finds a token in the text. A text without tokens must not be
 * queried, since nothing contains it. */
static bool has_token(const char *p, size_t n)
{
	while (n > 0) {
		size_t k = text_utf8_char(p, n);

		if (k == 1 ? isalnum((unsigned char)*p) != 0
			   : !is_symbol(
				     code_point((const unsigned char *)p, k)))
			return true;
		p += k;
		n -= k;
	}
	return false;
}

static void add_quoted(struct buf *out, const char *p, size_t n)
{
	buf_adds(out, out->n ? " \"" : "\"");
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			buf_addc(out, '"');
		buf_addc(out, p[i]);
	}
	buf_addc(out, '"');
}

/* Reads the next word or quoted phrase; returns where to continue. */
static const char *next_word(const char *p, const char **word, size_t *n)
{
	const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;

	if (end) {
		*word = p + 1;
		*n = (size_t)(end - p) - 1;
		return end + 1;
	}
	*word = p;
	*n = 0;
	while (p[*n] && !isspace((unsigned char)p[*n]) &&
	       (*n == 0 || p[*n] != '"'))
		(*n)++;
	return p + *n;
}

int search_text_query(const char *words, struct buf *out, struct err *e)
{
	size_t start = out->n;
	int count = 0;

	if (strlen(words) > SEARCH_QUERY_MAX ||
	    !text_is_utf8(words, strlen(words)))
		return err_set(e, ERR_USAGE,
			       "the search text is not UTF-8 or longer than "
			       "%d bytes",
			       SEARCH_QUERY_MAX);
	for (const char *p = words; *p;) {
		const char *word;
		size_t n;

		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		p = next_word(p, &word, &n);
		if (!has_token(word, n))
			continue;
		if (++count > SEARCH_WORDS_MAX)
			return err_set(e, ERR_USAGE,
				       "a search is limited to %d words",
				       SEARCH_WORDS_MAX);
		add_quoted(out, word, n);
		if (*p == '*' || word[n - 1] == '*')
			buf_addc(out, '*');
	}
	if (out->n == start)
		return err_set(e, ERR_USAGE,
			       "'%s' contains no word to search for",
			       quoted(words).text);
	return buf_ok(out, "the search", e);
}
