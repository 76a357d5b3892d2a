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
 * Channels, inside skepd. Rows are truth: a channel here is a row of `channel`
 * that is enabled, and a claimed delivery is a row of `delivery` that was
 * claimed.
 *
 * The way out. A worker wrote an outbox row (outbox.c takes it over into
 * `delivery`, once). delivery.c claims what is due, as many at a time as the
 * channel has room for: attempt id and lease are on the disk before the effect
 * of the step hands the deliveries to the channel's kind. The kind sends them
 * and calls inflight_done, exactly once each; outcomes are gathered and settled
 * in the next step, all in one commit. So a delivery costs two shares of a
 * commit.
 *
 * The way in. inbound.c writes the message, its conversation and the run that
 * it becomes in one transaction; only after it the platform is told that we
 * have it.
 *
 * When skepd dies in between, the next one finds `sending` rows of an older
 * epoch: they are `unknown`. A channel that is idempotent sends them again with
 * the same key; one that can say (ops->query) is asked; others wait for a person.
 * Until that is decided those queued behind it wait.
 *
 * Nothing here waits: HTTP and SMTP are libcurl's multi interface in a thread
 * (lib/http/curl_loop.h), files are written in one, plugins are processes with
 * pipes. A channel has its own room, rate and hold, so one that is dead delays
 * no other.
 */
struct channel;
struct channels;
struct inflight; /* delivery.h */

/* A kind of channel. All calls are made on the loop. */
struct channel_ops {
	const char *kind;
	bool idempotent;
	int (*open)(struct channel *c, struct err *e);
	/* Deliveries under way are given back by inflight_done (LOSE) before it
	 * returns; handles may close later and must not touch the channel. */
	void (*close)(struct channel *c);
	bool (*ready)(const struct channel *c);
	/* For kinds whose receivers come and ask: hands out what is due. The
	 * others' deliveries are claimed for them. Or NULL. */
	int (*pull)(struct channel *c, struct err *e);
	void (*send)(struct channel *c, struct inflight *p);
	void (*sent_all)(struct channel *c); /* after a batch; or NULL */
	/* What became of it? False: it cannot say. Else inflight_done: ACK, FAIL
	 * (it never came) or LOSE (nobody knows). Or NULL. */
	bool (*query)(struct channel *c, struct inflight *p);
	bool (*wake)(struct channel *c); /* it waits: not any more; or NULL */
	void (*tick)(struct channel *c); /* four times a second; or NULL */
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
	bool may_be_due; /* something may be due */
	bool resolve;    /* unknown ones are to be looked at */
	bool draining;   /* closed once what is under way is answered, or … */
	int64_t drain_until_ms; /* … at this uv_now */
	int64_t resolved_to;    /* seq up to which that was done */
	int64_t query_at;    /* clock: ask again; OPT_NONE: nobody to ask for */
	int64_t queries;     /* how often in vain */
	int64_t hold_until;  /* clock: nothing is sent before */
	int64_t hold_stored; /* the same, as its row has it; 0: none */
	int64_t next_due;    /* clock; OPT_NONE: nothing waits */
	int64_t suspended_until; /* clock: its rows could not be changed */
	int64_t tokens;          /* of the rate, in thousandths */
	int64_t refilled_ms;     /* monotonic; 0: it begins full */
	int inflight;
	int64_t delivered, failed; /* by outcomes that are being settled */
	void *own;                 /* the kind's */
};

/* channel.c */
int channels_open(struct supervisor *s, struct err *e);
/* Claims no more, and ends the loop when the answers are there to what is under
 * way, or a second later: what is cut off is unknown, and may be sent twice. */
void channels_drain(struct supervisor *s);
void channels_stop(struct supervisor *s); /* before the loop ends */
void channels_free(struct supervisor *s); /* after it */
void channels_tick(struct supervisor *s);
int64_t channels_outcomes(const struct supervisor *s); /* outcomes so far */

struct channel *channel_find(struct supervisor *s, const char *name);
/* The row has changed, is new or is gone. After the commit. */
void channel_reload(struct supervisor *s, const char *name);
/* More is to be tidied up than in one transaction; others have their turn
 * before. */
void channels_defer_cleanup(struct supervisor *s);
void channel_hint_due(struct supervisor *s,
		      const char *name); /* something may be due */
void channels_on_due(uv_timer_t *t);
void channel_set_error(struct channel *c, const char *text);
/* How it is, for people: "ready", "waiting", …; pid 0: it has no process. */
void channel_state(struct channel *c, const char *state, int64_t pid,
		   bool started);
void channel_pause(struct channel *c, const char *why);
void channel_clear_error(struct channel *c);

#endif
