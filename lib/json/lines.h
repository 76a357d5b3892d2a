#ifndef LIB_JSON_LINES_H
#define LIB_JSON_LINES_H

#include "lib/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Splits bytes into lines. A line longer than `max` comes in pieces, so no
 * output needs more memory than that.
 */
struct lines {
	struct buf part; /* of the line that has not ended yet */
	size_t max;
	bool inside; /* an earlier piece of this line was passed on */
};

struct line {
	const char *p; /* without its newline */
	size_t n;
	bool whole; /* the complete line, not a piece of a longer one */
	bool first; /* the line begins here */
	bool last;  /* the line ends here */
};

typedef int line_handler(void *arg, const struct line *line, struct err *e);

void lines_init(struct lines *l, size_t max);
void lines_fini(struct lines *l);

/* Passes every complete line to `handle`, until that fails. */
int lines_add(struct lines *l, const char *p, size_t n, line_handler *handle,
	      void *arg, struct err *e);

/* The end of the stream ends the last line. */
int lines_end(struct lines *l, line_handler *handle, void *arg, struct err *e);

#endif
