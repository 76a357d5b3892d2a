#ifndef SCHEMA_AGENT_TRANSCRIPT_EVENT_BODY_H
#define SCHEMA_AGENT_TRANSCRIPT_EVENT_BODY_H

#include "lib/base/arena.h"
#include "lib/json/json.h"

/*
 * The form of event bodies (event_body.def). A body from a client is checked
 * before it is stored. A stored body may be older than the check, or written by
 * another program, so readers use event_body_read.
 */

/* -1 with ERR_INVALID: the body is not an object, or a member that readers use
 * has the wrong type. */
int event_body_check(const char *type, const cJSON *body, struct err *e);

/* Parses and checks. */
int event_body_check_text(const char *type, const char *text, size_t n,
			  struct err *e);

/* Returns a stored body as a JSON object, in the arena: the body, or
 * {"invalid": BODY} if it is not an object. */
const char *event_body_read(const char *stored, struct arena *a);

#endif
