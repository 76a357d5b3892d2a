#ifndef SUPERVISOR_CHANNEL_CHANNEL_H
#define SUPERVISOR_CHANNEL_CHANNEL_H

#include "lib/base/arena.h"
#include "lib/base/id.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/delivery.h"
#include "supervisor/core/supervisor.h"

#include <stdbool.h>
#include <uv.h>

/*
 * Channels in skepd. Rows are authoritative: a `struct channel` is an enabled
 * row of `channel`, and a `struct inflight` is a claimed row of `delivery`.
 *
 * Outgoing messages. A worker writes an outbox row; outbox.c turns it into a
 * row of `delivery`, once. delivery_claim.c claims due deliveries, as many as
 * the channel has free slots. Attempt id and lease are committed before the
 * kind of the channel gets the deliveries. The kind sends them and calls
 * inflight_done exactly once for each. Outcomes are collected and recorded
 * together in the next transaction. So a delivery costs two shares of a commit.
 *
 * Inbound messages. inbound.c writes the message, its conversation and its run
 * in one transaction. The platform gets its acknowledgement after the commit.
 *
 * After a crash, the next skepd finds `sending` rows of an older epoch and
 * makes them `unknown`. An idempotent channel sends them again with the same
 * key; a channel that implements `query` is asked; the others wait for a user.
 * Deliveries queued behind an unknown one wait until it is resolved.
 *
 * Nothing here blocks. HTTP and SMTP use libcurl's multi interface in a thread
 * (lib/http/curl_loop.h), files are written in a thread, and plugins are
 * processes with pipes. Each channel has its own slots, rate and pause, so a
 * dead channel delays no other.
 */
struct channel;
struct channels;
struct inflight; /* delivery.h */

/* The operations of a kind of channel, all called on the loop. */
struct channel_ops {
	const char *kind;
	bool idempotent;
	int (*open)(struct channel *c, struct err *e);
	/* Ends deliveries in flight with inflight_done (LOSE) before it
	 * returns. Handles may close later, without using the channel. */
	void (*close)(struct channel *c);
	bool (*ready)(const struct channel *c);
	/* For kinds whose clients poll: claims and hands out due deliveries.
	 * NULL: deliveries are claimed and passed to `send`. */
	int (*pull)(struct channel *c, struct err *e);
	void (*send)(struct channel *c, struct inflight *p);
	/* called after a batch of sends; or NULL */
	void (*sent_all)(struct channel *c);
	/* Asks for the outcome of an unknown delivery. False: not possible.
	 * Otherwise it calls inflight_done with ACK, FAIL (not delivered) or
	 * LOSE (still unknown). Or NULL. */
	bool (*query)(struct channel *c, struct inflight *p);
	bool (*wake)(struct channel *c); /* ends a restart delay; or NULL */
	/* called four times a second; or NULL */
	void (*tick)(struct channel *c);
};

extern const struct channel_ops channel_file, channel_webhook, channel_smtp,
	channel_pull, channel_plugin;

struct channel {
	struct channel *next;
	struct supervisor *sup;
	const struct channel_ops *ops;
	struct arena arena;
	struct channel_config config;
	const char *name, *id, *json, *command;
	int64_t updated_at;
	bool paused;
	bool idempotent;
	bool may_be_due; /* deliveries may be due */
	bool resolve;    /* unknown deliveries are to be resolved */
	bool draining;   /* closes when no delivery is in flight, or … */
	int64_t drain_until_ms; /* … at this uv_now */
	int64_t resolved_to;    /* seq up to which unknown ones were resolved */
	int64_t resolve_at; /* clock: resolves them again; OPT_NONE: never */
	int64_t resolve_failures; /* in a row */
	int64_t hold_until;       /* clock: no delivery is claimed before */
	int64_t hold_stored;      /* the value in the row; 0: none */
	int64_t next_due;         /* clock: next due delivery; OPT_NONE: none */
	int64_t suspended_until;  /* clock: its rows could not be changed */
	int64_t tokens;           /* of the rate limit, in thousandths */
	/* monotonic time of the last refill; 0: starts full */
	int64_t refilled_ms;
	int inflight;
	int64_t delivered, failed; /* counts of the outcomes being recorded */
	char dead[240];            /* the last of them that is a dead letter */
	void *own;                 /* private to the kind */
};

/* channel.c */
int channels_open(struct supervisor *s, struct err *e);
/* Stops claiming, and ends the loop when no delivery is in flight, or after a
 * second. Deliveries that are cut off become unknown and may be sent twice. */
void channels_drain(struct supervisor *s);
void channels_stop(struct supervisor *s); /* call it before the loop ends */
void channels_free(struct supervisor *s); /* after the loop has ended */
void channels_tick(struct supervisor *s);
/* Number of outcomes since the start. */
int64_t channels_outcomes(const struct supervisor *s);

struct channel *channel_find(struct supervisor *s, const char *name);
/* The row was added, changed or deleted: opens, reopens or closes the channel.
 * Call it after the commit. */
void channel_reload(struct supervisor *s, const char *name);
/* Continues the clean-up in a later turn of the loop. */
void channels_defer_cleanup(struct supervisor *s);
/* Deliveries of this channel may be due. */
void channel_hint_due(struct supervisor *s, const char *name);
void channels_on_due(uv_timer_t *t);
void channel_set_error(struct channel *c, const char *text);
/* Records the state for users: "ready", "waiting", …; pid 0: no process;
 * started: count a start. */
void channel_state(struct channel *c, const char *state, int64_t pid,
		   bool started);
void channel_pause(struct channel *c, const char *why);
void channel_clear_error(struct channel *c);

#endif
