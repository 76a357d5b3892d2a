#include "bench/load/events.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A pseudo-random number, the same each time. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

static const char words[] =
	"The agent reads the file, finds the function that opens the socket, "
	"and changes the time-out from five seconds to thirty; then it runs "
	"the tests, sees that two of them fail, reads their output, and "
	"corrects the expectation in the first one. ";

#define FRAME_BYTES 110 /* of the JSON around the text */

static size_t size_of(int64_t number, const struct event_sizes *bytes)
{
	return (size_t)(bytes->n > 0 ? bytes->of[number % bytes->n]
				     : EVENTS_BYTES);
}

/* Event `number` of about its bytes; returns its length. */
static size_t make_text(int64_t number, const struct event_sizes *bytes,
			char *out, size_t cap)
{
	uint64_t r = mix((uint64_t)number);
	size_t want = size_of(number, bytes), at, start;
	size_t left = want > FRAME_BYTES ? want - FRAME_BYTES : 1;

	at = (size_t)snprintf(out, cap,
			      "{\"role\":\"assistant\",\"n\":%" PRId64
			      ",\"trace\":\"%016" PRIx64
			      "\",\"content\":[{\"type\":\"text\","
			      "\"text\":\"",
			      number, r);
	for (start = (size_t)(r % 100); left > 0; start = 0) {
		size_t n = sizeof words - 1 - start;

		n = n < left ? n : left;
		memcpy(out + at, words + start, n);
		at += n;
		left -= n;
	}
	return at + (size_t)snprintf(out + at, cap - at, "\"}],\"tokens\":%d}",
				     (int)(r % 4096));
}

const struct store_event *events_next(struct event_source *s, size_t n)
{
	assert(n <= EVENTS_BATCH_MAX);
	for (size_t i = 0; i < n; i++) {
		int64_t number = ++s->number;
		bool keyed = s->keyed > 0 && number % s->keyed == 0;

		s->batch[i].n = make_text(number, &s->bytes, s->text[i],
					  sizeof s->text[i]);
		s->batch[i].json = s->text[i];
		s->batch[i].key = keyed ? s->keys[i] : NULL;
		if (keyed)
			snprintf(s->keys[i], sizeof s->keys[i],
				 "msg-%016" PRIx64 "-%" PRId64,
				 mix((uint64_t)number + 7), number);
	}
	return s->batch;
}

struct check {
	const struct event_sizes *bytes;
	int64_t seen;
	int64_t wrong; /* number of the first that differs; 0: none */
};

static int compare_one(void *arg, const char *json, size_t n)
{
	struct check *c = arg;
	char want[EVENTS_BYTES_MAX + 256];
	size_t len = make_text(++c->seen, c->bytes, want, sizeof want);

	if (len == n && !memcmp(want, json, n))
		return 0;
	c->wrong = c->seen;
	return 1;
}

int events_verify(const struct store_kind *kind, void *store, int64_t n,
		  const struct event_sizes *bytes, struct err *e)
{
	static const struct event_sizes usual;
	struct check c = {.bytes = bytes ? bytes : &usual};

	if (kind->read(store, compare_one, &c, e))
		return -1;
	if (c.wrong)
		return err_set(e, ERR_CORRUPT,
			       "%s: event %" PRId64 " is not what was written",
			       kind->name, c.wrong);
	if (c.seen != n)
		return err_set(e, ERR_CORRUPT,
			       "%s: %" PRId64 " events of %" PRId64
			       " were read back",
			       kind->name, c.seen, n);
	return 0;
}
