#ifndef SUPERVISOR_CHANNEL_ATTACHMENTS_H
#define SUPERVISOR_CHANNEL_ATTACHMENTS_H

#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "schema/home.h"

#include <stdbool.h>
#include <stdint.h>

/* Attachments of messages: limits, files, and garbage collection. */

struct supervisor;
struct channel;

struct channel_media {
	int64_t touch_at_ms;  /* uv_now at which files in use are touched */
	bool gc;              /* messages were deleted: a collection is due */
	bool gc_running;      /* a collection is running … */
	bool in_bytes;        /* … in the second of the two tables … */
	char cursor[ID_SIZE]; /* … after this row */
};

int channel_media_open(struct supervisor *s, struct err *e);
void channel_media_tick(struct supervisor *s);

/* Where the attachments of its outgoing messages become files. A plugin sees only
 * its own. */
struct home_path channel_media_dir(const struct channel *c);

/* Stores the attachments of a message within the limits of the channel (NULL:
 * the channel was deleted). */
int channel_attach(struct supervisor *s, const struct channel *c, cJSON *body,
		   struct err *e);

#endif
