#ifndef SCHEMA_AGENT_TRANSCRIPT_LOCATOR_H
#define SCHEMA_AGENT_TRANSCRIPT_LOCATOR_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdint.h>

/*
 * sqlite-transcript://AGENT/SESSION[#SEQ] names a transcript, or one event of
 * it. The session's key is percent-encoded. It resolves through the registry;
 * there is never a file of that name.
 */
#define LOCATOR_SCHEME "sqlite-transcript://"

struct locator {
	char agent[65];
	char session[513];
	int64_t seq; /* 0: the whole */
};

int locator_parse(const char *text, struct locator *out, struct err *e);
void locator_text(const struct locator *l, struct buf *out);

#endif
