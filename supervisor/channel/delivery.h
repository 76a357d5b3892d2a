#ifndef SUPERVISOR_CHANNEL_DELIVERY_H
#define SUPERVISOR_CHANNEL_DELIVERY_H

#include "supervisor/channel/channel.h"

/* A claimed delivery and its outcome. channel.h describes the whole path. */
struct outcome {
	enum delivery_event event; /* ACK, FAIL, REFUSE or LOSE */
	int64_t code; /* status code of the receiver, or OPT_NONE */
	/* pause that the receiver requested for the channel, or -1 */
	int64_t retry_ms;
	bool not_counted; /* FAIL: the attempt does not count */
	char detail[200];
	char ref[128]; /* id on the platform */
};

struct inflight {
	struct inflight *next;
	struct channel *channel; /* NULL: the channel was closed */
	const char *to;          /* name of the channel */
	struct arena arena;      /* contains the texts of the row */
	struct delivery_claim_row row;
	struct id attempt;
	int64_t sent_at;
	int64_t deadline_ms; /* uv_now of the time-out */
	bool asking;         /* it is unknown, and this is a query; … */
	int64_t code;        /* … remote_status and … */
	const char *why;
	struct outcome out;
	int64_t again_ms; /* uv_now before which `out` is not recorded again */
	struct buf body;  /* message in the format of the kind */
	void *own;        /* private to the kind */
};

#define DELIVERY_RETRY_DB_MS 1000 /* after a failure of the database */

/* delivery.c */
struct inflight *inflight_new(struct channel *c,
			      const struct delivery_claim_row *row);
void inflight_free(struct inflight *p);
void inflight_done(struct inflight *p, const struct outcome *o);
/* Adds an outcome to those to be recorded. Takes p. */
void inflight_record_outcome(struct supervisor *s, struct inflight *p);
/* Time of the next attempt after `attempts` attempts; OPT_NONE: no more
 * attempts. */
int64_t inflight_next_attempt(const struct channel *c, int64_t attempts,
			      int64_t expires_at, int64_t now);
/* Records up to `budget` outcomes; returns their number, or -1. */
int inflight_record_outcomes(struct supervisor *s, int budget, struct err *e);
__attribute__((format(printf, 4, 5))) struct outcome outcome_of(
	enum delivery_event event, int64_t code, int64_t retry_ms,
	const char *fmt, ...);

/* delivery_claim.c: claims up to `budget` due deliveries; returns their number,
 * or -1. */
int inflight_claim(struct channel *c, int budget, struct err *e);
/* Claims one delivery of a conversation, for pull channels. NULL: none is
 * due. */
struct inflight *inflight_pull(struct channel *c, const char *conversation,
			       struct err *e);

/* delivery_pump.c */
/* Records outcomes and claims deliveries. */
void inflight_before_commit(struct supervisor *s);
/* Records all outcomes, when skepd ends; also those that wait for another
 * try. */
void inflight_record_last(struct supervisor *s);
/* After a failed commit: reads the deliveries from their rows again, a moment
 * later. */
void inflight_reload(struct supervisor *s);
/* Ends the loop if channels are draining and no delivery is in flight. */
void inflight_end_if_none(struct supervisor *s);

/* delivery_recover.c. inflight_recover makes `sending` rows of an older skepd
 * unknown. inflight_expire ends deliveries whose lease ran out or that are too
 * old. inflight_fail_orphans ends deliveries of deleted channels. Each reads a
 * bounded number of rows and returns how many have changed, or -1. A row that
 * cannot be changed is skipped for a while (delivery_stuck.h). */
int inflight_recover(struct supervisor *s, struct err *e);
int inflight_expire(struct supervisor *s, struct err *e);
int inflight_fail_orphans(struct supervisor *s, struct err *e);
/* Resolves unknown deliveries again, from the row `seq`. */
void inflight_resolve_from(struct channel *c, int64_t seq);
/* Sends unknown deliveries again if the channel is idempotent, or queries
 * their outcome; returns the number of rows, or -1. */
int inflight_resolve_unknown(struct channel *c, struct err *e);
/* A query had no result, or a row could not be changed: resolves the unknown
 * deliveries again later. */
void inflight_resolve_later(struct channel *c, int64_t now);
/* Does so if it is due. */
void inflight_resolve_if_due(struct channel *c, int64_t now);

#endif
