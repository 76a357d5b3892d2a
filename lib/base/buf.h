#ifndef LIB_BASE_BUF_H
#define LIB_BASE_BUF_H

#include "lib/base/err.h"

#include <stdarg.h>
#include <stddef.h>

/*
 * A growing run of bytes with a ceiling. p is always NUL-terminated, so that
 * text can be read in place. An add that would exceed the ceiling sets `over`
 * and changes nothing, and so does every later add. So a chain of adds is
 * checked once at its end, by buf_ok(). Running out of memory below the ceiling
 * aborts: choose ceilings that fit in memory.
 */
struct buf {
	char *p;
	size_t n;
	size_t cap;
	size_t max;
	bool over;
};

#define BUF_MAX(max_bytes)                         \
	{                                          \
		.p = buf_empty, .max = (max_bytes) \
	}

extern char buf_empty[1]; /* value of p before the first add */

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);  /* frees; the buffer can be used again */
void buf_clear(struct buf *b); /* empties; keeps the memory and the ceiling */
char *buf_take(struct buf *b); /* gives the text to the caller, who frees it */

int buf_add(struct buf *b, const void *p, size_t n); /* -1 when over */
int buf_adds(struct buf *b, const char *text);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* At most max bytes (3 or more) of a text for users: a longer text ends in "…",
 * after a whole character. */
int buf_add_fit(struct buf *b, const char *text, size_t max);

/* Room for n more bytes at the end, to read into; then call buf_grew. NULL if
 * that exceeds the ceiling. */
char *buf_room(struct buf *b, size_t n);
void buf_grew(struct buf *b, size_t n);
void buf_drop(struct buf *b, size_t n); /* removes n bytes at the front */

/* -1 with ERR_TOOBIG, naming `what`, if the ceiling was exceeded. */
int buf_ok(const struct buf *b, const char *what, struct err *e);

#endif
