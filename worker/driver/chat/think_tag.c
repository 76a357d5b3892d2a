#include "worker/driver/chat/think_tag.h"

#include <string.h>

static const struct chat_think_tag tags[] = {
#define THINK(open, close) {open, close},
#include "worker/driver/chat/think_tag.def"
#undef THINK
};

#define NTAGS (sizeof tags / sizeof *tags)

/* Receives a piece of text, borrowed for the call. */
struct sink {
	chat_think_fn *give;
	void *arg;
	struct err *e;
};

static int pass_on(const struct sink *to, enum chat_think_kind what,
		   const char *text, size_t n)
{
	return n > 0 || what == THINK_IS_REASONING
		       ? to->give(to->arg, what, text, n, to->e)
		       : 0;
}

static int flush_held(struct chat_think *t, enum chat_think_kind what,
		      const struct sink *to)
{
	size_t n = t->n;

	t->n = 0;
	return pass_on(to, what, t->pending, n);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *chat_think_close(const char *open)
{
	for (size_t i = 0; open && i < NTAGS; i++)
		if (strcmp(tags[i].open, open) == 0)
			return tags[i].close;
	return NULL;
}

/* --- tags -------------------------------------------------------------- */

enum match { MATCH_NO, MATCH_MAYBE, MATCH_OPEN, MATCH_CLOSE };

static enum match match_one(const char *p, size_t n, const char *tag,
			    enum match whole)
{
	if (strncmp(p, tag, n) != 0)
		return MATCH_NO;
	return n == strlen(tag) ? whole : MATCH_MAYBE;
}

/* What these n > 0 bytes are the beginning of, or equal to. */
static enum match match(const char *p, size_t n,
			const struct chat_think_tag **tag)
{
	enum match best = MATCH_NO;

	for (size_t i = 0; i < NTAGS; i++) {
		enum match open = match_one(p, n, tags[i].open, MATCH_OPEN);
		enum match close = match_one(p, n, tags[i].close, MATCH_CLOSE);
		enum match is = open > close ? open : close;

		if (is > MATCH_MAYBE)
			*tag = &tags[i];
		best = is > best ? is : best;
	}
	return best;
}

static bool may_begin(char c)
{
	for (size_t i = 0; i < NTAGS; i++)
		if (c == tags[i].open[0] || c == tags[i].close[0])
			return true;
	return false;
}

/* --- states ------------------------------------------------------------ */

/* White space may precede the opening tag. */
static int at_start(struct chat_think *t, char c, const struct sink *to)
{
	size_t spaces = 0;
	enum match is = MATCH_MAYBE;

	t->pending[t->n++] = c;
	while (spaces < t->n && is_space(t->pending[spaces]))
		spaces++;
	if (spaces < t->n)
		is = match(t->pending + spaces, t->n - spaces, &t->tag);
	if (is == MATCH_OPEN || is == MATCH_CLOSE) { /* empty, if closed */
		t->state = is == MATCH_OPEN ? THINK_INSIDE : THINK_BEHIND;
		t->n = 0;
	} else if (is == MATCH_NO || t->n == sizeof t->pending) {
		t->state = THINK_LOOKING;
		t->before = c;
		t->in_code = c == '`';
		return flush_held(t, THINK_OUT_TEXT, to);
	}
	return 0;
}

/* The held text is always a prefix of the closing tag. */
static int inside(struct chat_think *t, char c, const struct sink *to)
{
	const char *tag = t->tag->close;

	if (tag[t->n] != c && flush_held(t, THINK_OUT_REASONING, to))
		return -1;
	if (tag[t->n] != c)
		return pass_on(to, THINK_OUT_REASONING, &c, 1);
	t->pending[t->n++] = c;
	if (tag[t->n])
		return 0;
	t->n = 0;
	t->state = THINK_BEHIND;
	return 0;
}

/* At the end, the held text cannot become a tag. */
static int pass_text(struct chat_think *t, const struct sink *to)
{
	for (size_t i = 0; i < t->n; i++)
		t->in_code ^= t->pending[i] == '`';
	t->before = t->pending[t->n - 1];
	return flush_held(t, THINK_OUT_TEXT, to);
}

static int looking(struct chat_think *t, char c, const struct sink *to)
{
	const struct chat_think_tag *tag = NULL;
	bool quoted = t->in_code || t->before == '"' || t->before == '\'';
	enum match is;

	t->pending[t->n++] = c;
	is = match(t->pending, t->n, &tag);
	if (is == MATCH_CLOSE && !quoted) {
		t->tag = tag;
		t->n = 0;
		t->state = THINK_BEHIND;
		return pass_on(to, THINK_IS_REASONING, "", 0);
	}
	if (is == MATCH_OPEN)
		t->state = THINK_TEXT;
	if (is != MATCH_NO)
		return is == MATCH_MAYBE ? 0 : pass_text(t, to);
	t->n--;
	if (t->n > 0 && pass_text(t, to))
		return -1;
	t->pending[t->n++] = c; /* may start the next one */
	return may_begin(c) ? 0 : pass_text(t, to);
}

/* --- all ----------------------------------------------------------------- */

/* The number of bytes that are certainly text or reasoning. */
static size_t plain(struct chat_think *t, const char *p, size_t n)
{
	size_t i = 0;

	if (t->n > 0 || (t->state != THINK_INSIDE && t->state != THINK_LOOKING))
		return 0;
	for (; i < n && !may_begin(p[i]); i++)
		t->in_code ^= p[i] == '`';
	if (i > 0)
		t->before = p[i - 1];
	return i;
}

static int feed_one(struct chat_think *t, char c, const struct sink *to)
{
	if (t->state == THINK_START)
		return at_start(t, c, to);
	return t->state == THINK_INSIDE ? inside(t, c, to) : looking(t, c, to);
}

int chat_think_feed(struct chat_think *t, const char *text, size_t n,
		    chat_think_fn *fn, void *arg, struct err *e)
{
	struct sink to = {fn, arg, e};

	while (n > 0 && t->state != THINK_TEXT) {
		size_t sure = plain(t, text, n);
		int rc = 0;

		if (t->state == THINK_BEHIND && !is_space(*text)) {
			t->state = THINK_TEXT;
			break;
		}
		if (sure > 0)
			rc = pass_on(&to,
				     t->state == THINK_INSIDE
					     ? THINK_OUT_REASONING
					     : THINK_OUT_TEXT,
				     text, sure);
		else if (t->state != THINK_BEHIND)
			rc = feed_one(t, *text, &to);
		if (rc)
			return -1;
		sure = sure ? sure : 1;
		text += sure;
		n -= sure;
	}
	return pass_on(&to, THINK_OUT_TEXT, text, n);
}

int chat_think_end(struct chat_think *t, chat_think_fn *fn, void *arg,
		   struct err *e)
{
	struct sink to = {fn, arg, e};

	return flush_held(t,
			  t->state == THINK_INSIDE ? THINK_OUT_REASONING
						   : THINK_OUT_TEXT,
			  &to);
}
