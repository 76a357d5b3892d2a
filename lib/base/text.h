#ifndef LIB_BASE_TEXT_H
#define LIB_BASE_TEXT_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Validation and parsing of external text. */

bool text_is_utf8(const char *p, size_t n);
size_t text_utf8_char(const char *s, size_t n); /* bytes of the first character,
						 * 0 if it is not valid */
/* After a cut at a byte: removes an incomplete character at the end. */
void text_end_whole(char *s);

/* Copies a text for users into `size` bytes (at least 4). A text that does not
 * fit ends in "…", after a whole character. */
void text_fit(char *out, size_t size, const char *s);

/* The same with a format. */
void text_printf(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a text that was already printed there and cut off at a byte. */
void text_mark_cut(char *s, size_t size);

/* Cleans foreign text for storage: invalid UTF-8 becomes '?', control
 * characters become blanks. */
void text_clean(char *s);

/* "1 file", "2 files": the word for a number. */
const char *text_plural(int64_t n, const char *one, const char *many);

/* The start of the last `lines` lines of the text. */
const char *text_last_lines(const char *p, size_t n, int64_t lines);

/* A short printable form of any bytes, for messages: control characters and
 * invalid UTF-8 are escaped, long text is cut with "…". Use as
 * quoted(name).text */
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

/* Session keys, idempotency keys, tags: 1 to max bytes of UTF-8 without control
 * characters. */
int text_check_key(const char *what, const char *key, size_t max,
		   struct err *e);

/* Whether `word` is one of "a|b|c"; otherwise ERR_USAGE with the list. */
int text_check_word(const char *what, const char *list, const char *word,
		    struct err *e);

/* Splits HOST:PORT, where HOST may be an IPv6 address in brackets; ERR_USAGE. The
 * port is a number up to 65535: getaddrinfo would accept 65537 as 1. */
#define TEXT_HOST 256
#define TEXT_PORT 8
int text_address(const char *s, char host[TEXT_HOST], char port[TEXT_PORT],
		 struct err *e);

/* The whole text must be the value; otherwise -1 with ERR_USAGE naming
 * `what`. */
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

/* The exact inverse of text_millis: "500ms", "90s", "5m", "2d". */
const char *text_duration(int64_t ms, char *out);

#endif
