#ifndef SUPERVISOR_CHANNEL_ATTACHMENTS_H
#define SUPERVISOR_CHANNEL_ATTACHMENTS_H

#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "schema/home.h"

#include <stdbool.h>
#include <stdint.h>

/* Attachments of messages: their limits, their files, and their end. */

struct supervisor;
struct channel;

struct channel_media {
	int64_t touch_at_ms;  /* uv_now at which files in use are touched */
	bool gc;              /* messages are gone: a sweep is due */
	bool gc_running;      /* one is under way … */
	bool in_bytes;        /* … in the second of its two tables … */
	char cursor[ID_SIZE]; /* … after this row */
};

int channel_media_open(struct supervisor *s, struct err *e);
void channel_media_tick(struct supervisor *s);

/* Where the attachments of its outgoing messages become files. A plugin sees only
 * its own. */
struct home_path channel_media_dir(const struct channel *c);

/* Stores the attachments of a message, within the limits of the channel (NULL:
 * it is gone). */
int channel_attach(struct supervisor *s, const struct channel *c, cJSON *body,
		   struct err *e);

#endif
