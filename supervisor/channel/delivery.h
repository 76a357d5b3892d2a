#ifndef SUPERVISOR_CHANNEL_DELIVERY_H
#define SUPERVISOR_CHANNEL_DELIVERY_H

#include "supervisor/channel/channel.h"

/* A message that was claimed, in the hands of its channel's kind (channel.h has
 * the whole way), and what became of it. */
struct outcome {
	enum delivery_event event; /* ACK, FAIL, REFUSE or LOSE */
	int64_t code;              /* the receiver's, or OPT_NONE */
	int64_t retry_ms; /* it said so, for all of the channel; or -1 */
	bool no_try;      /* FAIL: the attempt does not count */
	char detail[200];
	char ref[128]; /* the platform's id */
};

struct parcel {
	struct parcel *next;
	struct channel *channel; /* NULL: it was removed meanwhile */
	const char *to;          /* its name */
	struct arena arena;      /* holds the row's texts */
	struct delivery_claim_row row;
	struct id attempt;
	int64_t sent_at;
	int64_t late_ms; /* uv_now at which it is given up */
	bool asking;     /* it is unknown, and the channel is asked; … */
	int64_t code;    /* … what its row says of that */
	const char *why;
	struct outcome out;
	struct buf body; /* what is sent, as the kind wants it */
	void *own;       /* the kind's */
};

/* parcel.c */
struct parcel *parcel_new(struct channel *c,
			  const struct delivery_claim_row *row);
void parcel_free(struct parcel *p);
void parcel_done(struct parcel *p, const struct outcome *o);
void parcel_settle(struct supervisor *s, struct parcel *p); /* takes it */
/* When the next attempt may be made after so many; OPT_NONE: none may be. */
int64_t parcel_next_try(const struct channel *c, int64_t attempts,
			int64_t expires_at, int64_t now);
/* Up to `budget` outcomes; how many, or -1. */
int parcels_settle(struct supervisor *s, int budget, struct err *e);
__attribute__((format(printf, 4, 5))) struct outcome outcome_of(
	enum delivery_event event, int64_t code, int64_t retry_ms,
	const char *fmt, ...);

/* parcel_claim.c: up to `budget`; how many, or -1. */
int parcels_claim(struct channel *c, int budget, struct err *e);
/* Claims for one conversation, for who asks (tty). NULL: nothing is due. */
struct parcel *parcel_pull(struct channel *c, const char *conversation,
			   struct err *e);

/* parcel_step.c */
void parcels_step(
	struct supervisor *s); /* before a commit: settles and claims */
void parcels_last(struct supervisor *s); /* settles what is left, at the end */
void parcels_due(struct supervisor *s);  /* sets the timer */
/* A transaction was rolled back: what was thought done is not. Looks again, later. */
void parcels_rolled_back(struct supervisor *s);
void parcels_left(
	struct supervisor *s); /* ends the loop if that is wanted and may be */

/* parcel_resolve.c: rows of an older skepd become unknown; unknown ones of a
 * channel are sent again, or asked about. A lease that ran out is taken back,
 * and what is too old ends, wherever it waits. -1, or how many were looked at. */
int parcels_recover(struct supervisor *s, struct err *e);
int parcels_tidy(struct supervisor *s, struct err *e);
int parcels_orphans(struct supervisor *s,
		    struct err *e); /* of a removed channel */
/* The row `seq` became unknown, or made room in its line. */
void parcels_look_again(struct channel *c, int64_t seq);
int parcels_resolve(struct channel *c, struct err *e);
/* The channel could not say what became of one; it is asked again later. */
void parcel_unsaid(struct channel *c, int64_t now);
void parcels_ask_again(struct channel *c, int64_t now); /* if it is time */

#endif
