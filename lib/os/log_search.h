#ifndef LIB_OS_LOG_SEARCH_H
#define LIB_OS_LOG_SEARCH_H

#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdint.h>

/*
 * Searches the log files of a home: NAME.log and the rotated NAME.log.1, … in one
 * directory. skepd.log has logfmt lines (lib/base/log.h) of skepd, workers, the
 * spawner and the watchdog; channel-NAME.log has what a plugin writes.
 */
struct log_filter {
	/* NULL: any. "channel" selects all plugins, "channel/NAME" one of them;
	 * a module is a path such as "run" or "run/start". */
	const char *source, *module, *run, *text;
	int level;            /* enum log_level: this one and above */
	int64_t since, until; /* milliseconds since 1970; 0: no limit */
};

/* One line. Texts are valid during the call of the consumer; those that the line
 * does not have are NULL. */
#define LOG_LINE(F, S)                                               \
	F(S, time, at) /* that of the line before, if it has none */ \
	F(S, text, source)                                           \
	F(S, text, level)                                            \
	F(S, text, module) F(S, text, run) F(S, text, message) F(S, text, line)

SHAPE_DECLARE(log_line, LOG_LINE);

typedef int log_consumer(void *arg, const struct log_line *line, struct err *e);

/* The newest `limit` lines that match, ordered by time. *follow, if it is not NULL,
 * continues where the search ended. */
struct log_follow;

int log_search(const char *dir, const struct log_filter *f, int64_t limit,
	       struct log_follow **follow, log_consumer *fn, void *arg,
	       struct err *e);

/* Follows the files: each call consumes the lines that were appended since the
 * last one, once each, also after rotations. */
int log_follow_next(struct log_follow *w, const struct log_filter *f,
		    log_consumer *fn, void *arg, struct err *e);
void log_follow_free(struct log_follow *w);

#endif
