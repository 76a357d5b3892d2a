#include "ipc/message.h"
#include "ipc/sp_frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read from b, written again, must be b. */
static void round_trip(const struct buf *b, enum msg_side from)
{
	struct buf again = BUF_MAX(MSG_MAX_BYTES);
	struct arena a = {0};
	struct err e;
	struct msg m;

	if (msg_decode(b->p, b->n, from, &a, &m, &e) ||
	    msg_encode(&m, &again, &e) || again.n != b->n ||
	    memcmp(again.p, b->p, b->n) != 0)
		abort();
	buf_fini(&again);
	arena_fini(&a);
}

/* Whatever decodes can be encoded, and from then on nothing changes. Nothing is
 * ever taken from a side that may not send it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	enum msg_side from;
	struct sp_frame f;
	struct arena a = {0};
	struct err e;
	struct msg m;

	if (size == 0)
		return 0;
	from = data[0] & 1 ? SIDE_WORKER : SIDE_SUPERVISOR;
	if (sp_get((const char *)data, size, 1 << 20, &f, &e) == 1 &&
	    (f.size > size || f.n > size))
		abort();
	if (msg_decode((const char *)data + 1, size - 1, from, &a, &m, &e) ==
	    0) {
		if (msg_side(m.type) != from || msg_encode(&m, &b, &e))
			abort();
		round_trip(&b, from);
	}
	buf_fini(&b);
	arena_fini(&a);
	return 0;
}
