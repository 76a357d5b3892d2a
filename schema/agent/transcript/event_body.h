#ifndef SCHEMA_AGENT_TRANSCRIPT_EVENT_BODY_H
#define SCHEMA_AGENT_TRANSCRIPT_EVENT_BODY_H

#include "lib/base/arena.h"
#include "lib/json/json.h"

/*
 * The form of event bodies (event_body.def). What comes from outside is checked
 * before it is stored; what is stored may be older than the check, or written
 * by another program, so readers take it by event_body_read.
 */

/* -1 with ERR_INVALID: the body is no object, or a member that readers use has
 * the wrong type. */
int event_body_check(const char *type, const cJSON *body, struct err *e);

/* Parses and checks. */
int event_body_check_text(const char *type, const char *text, size_t n,
			  struct err *e);

/* A stored body as a JSON object: itself, or {"invalid": BODY} if it is none.
 * In the arena. */
const char *event_body_read(const char *stored, struct arena *a);

#endif
