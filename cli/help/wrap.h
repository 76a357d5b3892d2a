#ifndef CLI_HELP_WRAP_H
#define CLI_HELP_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Prints text filled to 80 columns, with `indent` blanks before every line but
 * the first, which starts in `column`. "\n" ends a line. A line that starts
 * with a blank is printed unchanged, and one that starts with a tab is an item
 * of a list. Ends with a newline. */
void wrap_text(FILE *to, const char *text, size_t column, size_t indent);

#endif
