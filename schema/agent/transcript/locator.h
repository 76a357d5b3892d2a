#ifndef SCHEMA_AGENT_TRANSCRIPT_LOCATOR_H
#define SCHEMA_AGENT_TRANSCRIPT_LOCATOR_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdint.h>

/*
 * sqlite-transcript://AGENT/SESSION[#SEQ] identifies a transcript, or one event
 * of it. The key of the session is percent-encoded and may be followed by
 * ".jsonl". The registry resolves the agent; there is no file with that name.
 */
#define LOCATOR_SCHEME "sqlite-transcript://"
#define LOCATOR_SUFFIX ".jsonl"

struct locator {
	char agent[65];
	char session[513];
	int64_t seq; /* 0: the whole transcript */
};

int locator_parse(const char *text, struct locator *out, struct err *e);
void locator_text(const struct locator *l, struct buf *out);

#endif
