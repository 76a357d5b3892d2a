#ifndef LIB_OS_LOG_LINE_H
#define LIB_OS_LOG_LINE_H

#include "lib/base/arena.h"
#include "lib/os/log_search.h"

#include <stdbool.h>

/* Parses a line of the log file `file` (its name without directory and number)
 * into *out; texts are in the arena. at is the time of the line before. */
void log_line_parse(const char *file, const char *text, int64_t at,
		    struct log_line *out, struct arena *a);

bool log_line_matches(const struct log_line *line, const struct log_filter *f);

#endif
