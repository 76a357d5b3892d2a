#ifndef SUPERVISOR_CORE_ATTACHMENTS_H
#define SUPERVISOR_CORE_ATTACHMENTS_H

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "schema/control/channel/attachment.h"

#include <stdbool.h>
#include <stdint.h>

/* The attachments of all messages and runs, up to channel.media_total. */
struct supervisor;

struct attachment_budget {
	int64_t bytes; /* stored */
	bool stale;    /* to be counted again */
};

int supervisor_attachments_count(struct supervisor *s, struct err *e);

/* attachments_store, within the budget; all of them or none. limits: of one and of
 * all together; .room is filled in here. */
int supervisor_attach(struct supervisor *s, struct media_limits limits,
		      cJSON *body, struct err *e);

#endif
