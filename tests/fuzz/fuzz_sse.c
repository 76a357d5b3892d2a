/*
 * Any bytes as an event stream: read whole or byte by byte they give the same
 * events, and an event that is written again is read as it was.
 */
#include "lib/json/sse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int again(void *arg, const struct sse_event *ev)
{
	struct buf *b = arg;

	/* A name may hold anything but a line break, and so may an id. */
	sse_format(b, &(struct sse_event){.id = ev->id,
					  .event = ev->event,
					  .data = ev->data,
					  .n = ev->n});
	return 0;
}

static void read_in(const char *p, size_t n, size_t piece, struct buf *out)
{
	struct sse_parser parser;
	struct err e;

	sse_parser_init(&parser, MAX);
	while (n > 0) {
		size_t len = n < piece ? n : piece;

		if (sse_parse(&parser, p, len, again, out, &e))
			abort();
		p += len;
		n -= len;
	}
	sse_parser_fini(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_MAX(16 * MAX), bytes = BUF_MAX(16 * MAX);
	struct buf twice = BUF_MAX(16 * MAX);

	if (size > MAX)
		return 0;
	read_in((const char *)data, size, size ? size : 1, &whole);
	read_in((const char *)data, size, 1, &bytes);
	read_in(whole.p, whole.n, 4096, &twice);
	if (whole.n != bytes.n || memcmp(whole.p, bytes.p, whole.n))
		abort();
	if (whole.n != twice.n || memcmp(whole.p, twice.p, whole.n))
		abort();
	buf_fini(&whole);
	buf_fini(&bytes);
	buf_fini(&twice);
	return 0;
}
