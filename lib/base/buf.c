#include "lib/base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char buf_empty[1];

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf)BUF_MAX(max);
}

void buf_fini(struct buf *b)
{
	if (b->p != buf_empty)
		free(b->p);
	buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->over = false;
	if (b->p != buf_empty)
		b->p[0] = '\0';
}

char *buf_take(struct buf *b)
{
	char *p = b->p == buf_empty ? calloc(1, 1) : b->p;

	if (!p)
		abort();
	buf_init(b, b->max);
	return p;
}

char *buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;

	if (b->over || n > b->max || b->n > b->max - n) {
		b->over = true;
		return NULL;
	}
	if (b->n + n + 1 <= b->cap)
		return b->p + b->n;
	while (cap < b->n + n + 1)
		cap *= 2;
	b->p = realloc(b->p == buf_empty ? NULL : b->p, cap);
	if (!b->p)
		abort();
	b->p[b->n] = '\0';
	b->cap = cap;
	return b->p + b->n;
}

void buf_grew(struct buf *b, size_t n)
{
	assert(b->n + n < b->cap || n == 0);
	b->n += n;
	if (b->cap)
		b->p[b->n] = '\0';
}

void buf_drop(struct buf *b, size_t n)
{
	assert(n <= b->n);
	if (n == 0)
		return;
	memmove(b->p, b->p + n, b->n - n + 1);
	b->n -= n;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_room(b, n);

	if (!to)
		return -1;
	if (n > 0)
		memcpy(to, p, n);
	buf_grew(b, n);
	return 0;
}

int buf_adds(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

static bool is_inside_char(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

int buf_add_fit(struct buf *b, const char *text, size_t max)
{
	static const char mark[] = "…";
	size_t n = strnlen(text, max + 1), cut = max - (sizeof mark - 1);

	if (n <= max)
		return buf_add(b, text, n);
	for (int i = 0; i < 3 && cut > 0 && is_inside_char(text[cut]); i++)
		cut--;
	if (buf_add(b, text, cut))
		return -1;
	return buf_adds(b, mark);
}

int buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *to;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	assert(n >= 0);
	to = buf_room(b, (size_t)n);
	if (!to)
		return -1;
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	buf_grew(b, (size_t)n);
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = buf_vaddf(b, fmt, ap);
	va_end(ap);
	return rc;
}

int buf_ok(const struct buf *b, const char *what, struct err *e)
{
	if (b->over)
		return err_set(e, ERR_TOOBIG, "%s: over the limit of %zu bytes",
			       what, b->max);
	return 0;
}
