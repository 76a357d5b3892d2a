#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether a terminal acts on the character instead of showing it: C0, DEL, C1
 * (two bytes from U+0080), and the marks that turn text around (bidi controls).
 * len is its length in UTF-8. */
bool terminal_acts_on(const char *p, size_t len);

/*
 * A stream in front of a terminal. JSON has C1 and bidi controls as they are,
 * since they need no escape there; the filter writes them as \u009b, which is
 * the same JSON. Other control characters pass: styles of ours begin with ESC,
 * and data has been through output_safe or is JSON. Lives as long as `to`.
 */
FILE *terminal_filter(FILE *to);

#endif
