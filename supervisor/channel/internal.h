#ifndef SUPERVISOR_CHANNEL_INTERNAL_H
#define SUPERVISOR_CHANNEL_INTERNAL_H

#include "supervisor/channel/attachments.h"
#include "supervisor/channel/channel.h"

/* What the files of supervisor/channel/ share. */
struct channels {
	struct channel *first;
	struct inflight *done; /* outcomes to be settled */
	struct inflight **done_end;
	int64_t outcomes; /* that were settled, since the start */
	uv_timer_t due;
	int64_t due_at; /* when it goes off; OPT_NONE: it does not */
	uv_timer_t cleanup_timer;
	struct curl_loop *web, *mail;
	struct outbox *outbox;
	struct retention *retention;
	struct channel_delete_job *deletion;
	struct plugin_exit *plugin_exits; /* plugins on their way out */
	uv_timer_t plugin_timer;          /* at them, while there are any */
	struct plugin_log *logs; /* of those that live, and those that leave */
	int64_t suspended_until; /* clock; after a failure of the database */
	bool recovering;         /* rows of an older epoch are left */
	bool cleanup;            /* leases and ages are to be looked at … */
	bool orphans; /* … and what waits for a channel that is gone */
	struct channel_media media;
	bool draining;          /* claims nothing more */
	int64_t drain_until_ms; /* uv_now at which the loop ends anyway */
	bool closing;
};

#endif
