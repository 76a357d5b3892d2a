#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether a terminal interprets the character instead of showing it: C0, DEL,
 * C1 (two bytes from U+0080), and bidi controls. len is its length in UTF-8. */
bool terminal_acts_on(const char *p, size_t len);

/*
 * A filter in front of a terminal. JSON contains C1 and bidi controls
 * unescaped, since JSON does not require escapes for them; the filter writes
 * them as \u009b, which is the same JSON. Other control characters pass: styles
 * begin with ESC, and data was escaped by output_safe or is JSON. It lives as
 * long as `to`.
 */
FILE *terminal_filter(FILE *to);

#endif
