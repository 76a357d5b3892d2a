#include "lib/json/lines.h"

#include <string.h>

void lines_init(struct lines *l, size_t max)
{
	buf_init(&l->part, max);
	l->max = max;
	l->inside = false;
}

void lines_fini(struct lines *l)
{
	buf_fini(&l->part);
}

static int pass_line(struct lines *l, bool last, line_handler *handle,
		     void *arg, struct err *e)
{
	struct line line = {
		.p = l->part.p,
		.n = l->part.n,
		.whole = last && !l->inside,
		.first = !l->inside,
		.last = last,
	};
	int rc = handle(arg, &line, e);

	l->inside = !last;
	buf_clear(&l->part);
	return rc;
}

int lines_add(struct lines *l, const char *p, size_t n, line_handler *handle,
	      void *arg, struct err *e)
{
	while (n > 0) {
		size_t room = l->max - l->part.n;
		size_t some = n < room ? n : room;
		const char *end = memchr(p, '\n', some);

		if (end)
			some = (size_t)(end - p);
		buf_add(&l->part, p, some);
		p += some;
		n -= some;
		if (end) {
			p++;
			n--;
		} else if (l->part.n < l->max) {
			return 0;
		}
		if (pass_line(l, end != NULL, handle, arg, e))
			return -1;
	}
	return 0;
}

int lines_end(struct lines *l, line_handler *handle, void *arg, struct err *e)
{
	if (l->part.n == 0 && !l->inside)
		return 0;
	return pass_line(l, true, handle, arg, e);
}
