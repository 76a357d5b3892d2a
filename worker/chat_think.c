#include "worker/chat_think.h"

#include <stdio.h>
#include <string.h>

static const char *const tags[] = {"<think>", "<thinking>", "<thought>",
				   "<reasoning>"};

#define NTAGS (sizeof tags / sizeof *tags)

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int give_held(struct chat_think *t, bool reasoning, chat_think_fn *give,
		     void *arg, struct err *e)
{
	size_t n = t->n;

	t->n = 0;
	return n > 0 ? give(arg, reasoning, t->held, n, e) : 0;
}

/* What is held, from its first character that is no space. */
static const char *held_tag(const struct chat_think *t, size_t *n)
{
	size_t i = 0;

	while (i < t->n && is_space(t->held[i]))
		i++;
	*n = t->n - i;
	return t->held + i;
}

/* 1: it is a tag; 0: it may become one; -1: it cannot. */
static int match_open(struct chat_think *t)
{
	size_t n;
	const char *held = held_tag(t, &n);
	int may = n == 0 ? 0 : -1;

	for (size_t i = 0; i < NTAGS && n > 0; i++) {
		if (strncmp(held, tags[i], n) != 0)
			continue;
		may = 0;
		if (n == strlen(tags[i])) {
			t->tag = tags[i];
			return 1;
		}
	}
	return t->n < sizeof t->held - 1 ? may : -1;
}

static int at_start(struct chat_think *t, char c, chat_think_fn *give,
		    void *arg, struct err *e)
{
	int is;

	t->held[t->n++] = c;
	is = match_open(t);
	if (is == 0)
		return 0;
	t->state = is > 0 ? THINK_INSIDE : THINK_TEXT;
	if (is < 0)
		return give_held(t, false, give, arg, e);
	t->n = 0;
	return 0;
}

/* What is held is always a beginning of the closing tag. */
static int inside(struct chat_think *t, char c, chat_think_fn *give, void *arg,
		  struct err *e)
{
	char tag[CHAT_THINK_HELD];
	int size = snprintf(tag, sizeof tag, "</%s", t->tag + 1);

	if (tag[t->n] != c && t->n > 0 && give_held(t, true, give, arg, e))
		return -1;
	if (tag[t->n] != c)
		return give(arg, true, &c, 1, e);
	t->held[t->n++] = c;
	if (t->n < (size_t)size)
		return 0;
	t->n = 0;
	t->state = THINK_BEHIND;
	return 0;
}

/* How many bytes certainly belong to the reasoning: up to the next bracket. */
static size_t plain(const struct chat_think *t, const char *p, size_t n)
{
	const char *at = t->n == 0 ? memchr(p, '<', n) : p;

	return at ? (size_t)(at - p) : n;
}

int chat_think_feed(struct chat_think *t, const char *text, size_t n,
		    chat_think_fn *give, void *arg, struct err *e)
{
	while (n > 0 && t->state != THINK_TEXT) {
		size_t sure = t->state == THINK_INSIDE ? plain(t, text, n) : 0;
		int rc = 0;

		if (sure > 0)
			rc = give(arg, true, text, sure, e);
		else if (t->state == THINK_START)
			rc = at_start(t, *text, give, arg, e);
		else if (t->state == THINK_INSIDE)
			rc = inside(t, *text, give, arg, e);
		else if (!is_space(*text))
			t->state = THINK_TEXT;
		if (rc)
			return -1;
		if (t->state == THINK_TEXT && sure == 0 && t->tag)
			break; /* this character is text */
		sure = sure ? sure : 1;
		text += sure;
		n -= sure;
	}
	return n > 0 ? give(arg, false, text, n, e) : 0;
}

int chat_think_end(struct chat_think *t, chat_think_fn *give, void *arg,
		   struct err *e)
{
	return give_held(t, t->state == THINK_INSIDE, give, arg, e);
}
