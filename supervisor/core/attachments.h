#ifndef SUPERVISOR_CORE_ATTACHMENTS_H
#define SUPERVISOR_CORE_ATTACHMENTS_H

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "schema/control/channel/attachment.h"

#include <stdbool.h>
#include <stdint.h>

/* The total size of the attachments of all messages and runs, limited by
 * channel.media_total. */
struct supervisor;

struct attachment_budget {
	int64_t bytes; /* size of the stored attachments */
	bool stale;    /* bytes is out of date */
};

int supervisor_attachments_count(struct supervisor *s, struct err *e);

/* Stores the attachments of a body (attachments_store) within the budget: all
 * of them or none. limits: size of one attachment and of all in the body; .room
 * is set here. */
int supervisor_attach(struct supervisor *s, struct media_limits limits,
		      cJSON *body, struct err *e);

#endif
