/*
 * Any bytes, in pieces, on a connection with or without a credential. Whatever
 * comes, what goes out is a row of well-formed answers, and a connection that
 * stops answering is one that is being closed.
 *
 * The first byte picks the socket and the size of the pieces.
 */
#include "tests/support/http_wire.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 1;
	struct wire w;
	int list[1];
	size_t piece;

	if (size < 2)
		return 0;
	log_setup("fuzz", LOG_LEVEL_ERROR, -1);
	piece = (size_t)(data[0] >> 1) + 1;
	wire_init(&w, data[0] & 1);
	for (size_t left = size - 1; left > 0 && !w.c->kill;) {
		size_t n = left < piece ? left : piece;

		wire_input(&w, p, n);
		p += n;
		left -= n;
		if (w.stream && (data[0] & 2)) {
			http_stream_end(w.stream);
			w.stream = NULL;
			wire_drain(&w);
		}
		if (data[0] & 4) {
			wire_answer_held(&w);
			wire_drain(&w);
		}
	}
	if (!memmem(data, size, "HEAD", 4) &&
	    wire_answers(&w, w.stream || w.c->kill, list, 1) < 0)
		abort();
	wire_fini(&w);
	return 0;
}
