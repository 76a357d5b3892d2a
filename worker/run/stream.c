#include "worker/run/stream.h"

#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_MS 1000000

static int find_part(const struct stream *s, const char *name)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (s->slots[i].open && strcmp(s->slots[i].name, name) == 0)
			return i;
	return -1;
}

static int find_free(const struct stream *s)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (!s->slots[i].open)
			return i;
	return -1;
}

static int begin_part(struct stream *s, const char *name, const char *kind,
		      struct err *e)
{
	struct event_new ev = {.type = "message",
			       .body = "{\"role\":\"assistant\"}",
			       .parent = WRITER_LEAF};
	struct part_new part = {.kind = kind};
	struct event_ref ref;
	int i = find_free(s);

	if (strlen(name) > STREAM_NAME)
		return err_set(e, ERR_TOOBIG,
			       "the name of a part is longer than %d bytes",
			       STREAM_NAME);
	if (i < 0) {
		err_set(e, ERR_FULL, "more than %d parts are streaming at once",
			STREAM_MAX);
		return -1;
	}
	if (transcript_add(s->transcript, &ev, 1, &ref, e) ||
	    part_open(&s->slots[i].part, &s->transcript->writer, ref.pos, &part,
		      e))
		return -1;
	s->slots[i].open = true;
	snprintf(s->slots[i].name, sizeof s->slots[i].name, "%s", name);
	return i;
}

int stream_add(struct stream *s, const char *name, const char *kind,
	       const char *text, struct err *e)
{
	int i = find_part(s, name), rc;

	if (i < 0)
		i = begin_part(s, name, kind, e);
	if (i < 0)
		return -1;
	rc = part_add(&s->slots[i].part, text, strlen(text), e);
	if (rc > 0)
		transcript_changed(s->transcript);
	return rc < 0 ? -1 : 0;
}

static int end_part(struct stream *s, int i, const char *state, struct err *e)
{
	int rc = part_set(&s->slots[i].part,
			  &(struct part_change_new){.state = state}, e);

	part_close(&s->slots[i].part);
	s->slots[i].open = false;
	transcript_changed(s->transcript);
	return rc < 0 ? -1 : 0;
}

int stream_end(struct stream *s, const char *name, const char *state,
	       struct err *e)
{
	int i = find_part(s, name);

	return i < 0 ? 0 : end_part(s, i, state, e);
}

int stream_end_all(struct stream *s, const char *state, struct err *e)
{
	int rc = 0;

	for (int i = 0; i < STREAM_MAX; i++)
		if (s->slots[i].open && end_part(s, i, state, e))
			rc = -1;
	return rc;
}

int stream_flush(struct stream *s, int64_t *wait_ms, struct err *e)
{
	for (int i = 0; i < STREAM_MAX; i++) {
		int64_t due, left;

		due = s->slots[i].open ? part_due_ns(&s->slots[i].part) : 0;
		if (due == 0)
			continue;
		left = (due - clock_mono_ns()) / NS_PER_MS;
		if (left > 0) {
			*wait_ms = left < *wait_ms ? left : *wait_ms;
			continue;
		}
		if (part_flush(&s->slots[i].part, e) < 0)
			return -1;
		transcript_changed(s->transcript);
	}
	return 0;
}
