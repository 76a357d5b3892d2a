#ifndef SUPERVISOR_CHANNEL_INTERNAL_H
#define SUPERVISOR_CHANNEL_INTERNAL_H

#include "supervisor/channel/attachments.h"
#include "supervisor/channel/channel.h"
#include "supervisor/channel/delivery_stuck.h"

/* What the files of supervisor/channel/ share. */
struct channels {
	struct channel *first;
	struct inflight *done; /* outcomes to be recorded */
	struct inflight **done_end;
	int64_t outcomes; /* recorded since the start */
	uv_timer_t due;
	int64_t due_at; /* time of `due`; OPT_NONE: not set */
	uv_timer_t cleanup_timer;
	struct curl_loop *web, *mail;
	struct outbox *outbox;
	struct retention *retention;
	struct channel_delete_job *deletion;
	struct plugin_exit *plugin_exits; /* plugins that are being ended */
	uv_timer_t plugin_timer;          /* checks them, while there are any */
	/* of running plugins and of those being ended */
	struct plugin_log *logs;
	/* clock: no work before, after a database failure */
	int64_t suspended_until;
	bool recovering; /* rows of an older epoch may be left */
	bool cleanup;    /* expired leases and deliveries may exist … */
	bool orphans;    /* … and deliveries of deleted channels */
	struct stuck_deliveries stuck;
	struct channel_media media;
	bool draining;          /* claims no more deliveries */
	int64_t drain_until_ms; /* uv_now at which the loop ends in any case */
	bool closing;
};

/* commands.c: checks and stores a binding, in the transaction of the turn. */
int channel_bind(struct supervisor *s, const struct binding_row *b,
		 const char *by, struct err *e);

#endif
