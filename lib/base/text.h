#ifndef LIB_BASE_TEXT_H
#define LIB_BASE_TEXT_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Checking and reading of text that comes from outside. */

bool text_is_utf8(const char *p, size_t n);
size_t text_utf8_char(const char *s, size_t n); /* bytes of the first character,
						 * 0 if it is not valid */
/* After a cut at a byte: takes away what is left of a character at the end. */
void text_end_whole(char *s);

/* Copies a text for people into `size` bytes (at least 4). One that does not fit
 * ends in "…", behind a whole character. */
void text_fit(char *out, size_t size, const char *s);

/* Prints such a text. */
void text_printf(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a text that was printed there and cut off at a byte. */
void text_mark_cut(char *s, size_t size);

/* Words of another's, to be kept as text: bytes that are no UTF-8 become '?',
 * control characters blanks. */
void text_clean(char *s);

/* Where the last `lines` lines of the text begin. */
const char *text_last_lines(const char *p, size_t n, int64_t lines);

/* A short printable picture of any bytes, for messages: control characters and
 * bad UTF-8 are escaped, long text is cut with "…". Use as quoted(name).text */
struct quoted {
	char text[96];
};

struct quoted quoted(const char *s);
struct quoted quotedn(const char *p, size_t n);

/*
 * Names of agents, channels and the like: 1 to 64 of a-z 0-9 . _ - and upper
 * case, starting with a letter or digit, so that a name is always one path
 * component, one shell word and one URL segment. `what` is named in the error.
 */
int text_check_name(const char *what, const char *name, struct err *e);

/* Keys of sessions, idempotency keys, tags: 1 to max bytes of UTF-8 with no
 * control characters. */
int text_check_key(const char *what, const char *key, size_t max,
		   struct err *e);

/* Is `word` one of "a|b|c"? ERR_USAGE with the list if not. */
int text_check_word(const char *what, const char *list, const char *word,
		    struct err *e);

/* The whole text must be the value; -1 with ERR_USAGE naming `what`. */
int text_i64(const char *what, const char *s, int64_t min, int64_t max,
	     int64_t *out, struct err *e);
int text_bytes(const char *what, const char *s, int64_t *out,
	       struct err *e); /* "64k", "10MB", "1GiB", "123" */
int text_millis(const char *what, const char *s, int64_t *out,
		struct err *e); /* "250ms", "30s", "5m", "2h", "7d" */

/* The inverse, for people: "1.2 MB", "3m05s", into out. */
#define TEXT_HUMAN 24
const char *text_human_bytes(int64_t n, char *out);
const char *text_human_millis(int64_t ms, char *out);

#endif
