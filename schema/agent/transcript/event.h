#ifndef SCHEMA_AGENT_TRANSCRIPT_EVENT_H
#define SCHEMA_AGENT_TRANSCRIPT_EVENT_H

#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/base/shape.h"

#include <stdint.h>

/* Types, positions and ids of transcript events. */

enum event_type {
#define EVENT(word, number) EVENT_##word = (number),
#include "schema/agent/transcript/event_type.def"
#undef EVENT
	EVENT_TYPES
};

const char *event_type_name(int64_t type); /* "unknown" for an unknown number */
enum event_type event_type_from(const char *word); /* or EVENT_unknown */

/*
 * pos = session << 32 | seq is the primary key of an event. seq counts from 1
 * without gaps; a fork by pointer continues the count of its base.
 */
#define EVENT_SEQ_MAX  INT64_C(0xffffffff)
#define EVENT_BODY_MAX (16u << 20)
#define EVENT_KEY_MAX  512

static inline int64_t event_pos(int64_t session, int64_t seq)
{
	return session << 32 | seq;
}

static inline int64_t event_session(int64_t pos)
{
	return pos >> 32;
}

static inline int64_t event_seq(int64_t pos)
{
	return pos & EVENT_SEQ_MAX;
}

/*
 * The id of an event is derived from the id of its session and its seq. So it
 * sorts like the events and needs no index: evt_ + the 26 characters of ses_… +
 * ten digits.
 */
struct event_id {
	char text[4 + ID_BODY + 10 + 1];
};

struct event_id event_id_of(const char *sid, int64_t seq);

#endif
