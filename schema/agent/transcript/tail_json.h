#ifndef SCHEMA_AGENT_TRANSCRIPT_TAIL_JSON_H
#define SCHEMA_AGENT_TRANSCRIPT_TAIL_JSON_H

#include "lib/base/shape.h"
#include "schema/agent/transcript/tail.h"

/* Events as JSON lines, as `skep logs --json` prints them and
 * /v1/runs/{id}/log returns them. */
#define EVENT_VIEW(F, S)  \
	F(S, i64, seq)    \
	F(S, text, id)    \
	F(S, text, type)  \
	F(S, i64, parent) \
	F(S, time, at) F(S, text, run) F(S, text, key) F(S, json, body)
SHAPE_DECLARE(event_view, EVENT_VIEW);

#define PART_VIEW(F, S)     \
	F(S, i64, idx)      \
	F(S, text, kind)    \
	F(S, text, state)   \
	F(S, text, name)    \
	F(S, text, call_id) \
	F(S, text, text) F(S, json, input) F(S, json, output) F(S, json, meta)
SHAPE_DECLARE(part_view, PART_VIEW);

struct event_view event_view_of(const struct event *ev);

/* Appends the line of an item. */
void tail_item_line(struct buf *b, const struct tail_item *item);

#endif
