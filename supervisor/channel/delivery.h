#ifndef SUPERVISOR_CHANNEL_DELIVERY_H
#define SUPERVISOR_CHANNEL_DELIVERY_H

#include "supervisor/channel/channel.h"

/* A message that was claimed, in the hands of its channel's kind (channel.h has
 * the whole way), and what became of it. */
struct outcome {
	enum delivery_event event; /* ACK, FAIL, REFUSE or LOSE */
	int64_t code;              /* the receiver's, or OPT_NONE */
	int64_t retry_ms; /* it said so, for all of the channel; or -1 */
	bool not_counted; /* FAIL: the attempt does not count */
	char detail[200];
	char ref[128]; /* the platform's id */
};

struct inflight {
	struct inflight *next;
	struct channel *channel; /* NULL: it was removed meanwhile */
	const char *to;          /* its name */
	struct arena arena;      /* holds the row's texts */
	struct delivery_claim_row row;
	struct id attempt;
	int64_t sent_at;
	int64_t deadline_ms; /* uv_now at which it is given up */
	bool asking;         /* it is unknown, and the channel is asked; … */
	int64_t code;        /* … what its row says of that */
	const char *why;
	struct outcome out;
	int64_t again_ms; /* uv_now before which `out` is not recorded again */
	struct buf body;  /* what is sent, as the kind wants it */
	void *own;        /* the kind's */
};

#define DELIVERY_SICK_MS 1000 /* after a failure of the database */

/* delivery.c */
struct inflight *inflight_new(struct channel *c,
			      const struct delivery_claim_row *row);
void inflight_free(struct inflight *p);
void inflight_done(struct inflight *p, const struct outcome *o);
void inflight_record_outcome(struct supervisor *s,
			     struct inflight *p); /* takes it */
/* When the next attempt may be made after so many; OPT_NONE: none may be. */
int64_t inflight_next_attempt(const struct channel *c, int64_t attempts,
			      int64_t expires_at, int64_t now);
/* Up to `budget` outcomes; how many, or -1. An outcome that cannot be recorded
 * delays no other. */
int inflight_record_outcomes(struct supervisor *s, int budget, struct err *e);
__attribute__((format(printf, 4, 5))) struct outcome outcome_of(
	enum delivery_event event, int64_t code, int64_t retry_ms,
	const char *fmt, ...);

/* inflight_claim.c: up to `budget`; how many, or -1. */
int inflight_claim(struct channel *c, int budget, struct err *e);
/* Claims for one conversation, for who asks (pull). NULL: nothing is due. */
struct inflight *inflight_pull(struct channel *c, const char *conversation,
			       struct err *e);

/* inflight_step.c */
void inflight_before_commit(
	struct supervisor *s); /* before a commit: settles and claims */
void inflight_record_last(
	struct supervisor *
		s); /* A transaction was rolled back: what was thought done is not. Looks again,
 * later. */
void inflight_reload(struct supervisor *s);
void inflight_end_if_none(
	struct supervisor *s); /* ends the loop if that is wanted and may be */

/* inflight_resolve.c: rows of an older skepd become unknown; unknown ones of a
 * channel are sent again, or asked about. A lease that ran out is taken back,
 * and what is too old ends, wherever it waits. -1, or how many were looked at. */
int inflight_recover(struct supervisor *s, struct err *e);
int inflight_expire(struct supervisor *s, struct err *e);
int inflight_fail_orphans(struct supervisor *s,
			  struct err *e); /* of a removed channel */
/* The row `seq` became unknown, or left its queue. */
void inflight_resolve_from(struct channel *c, int64_t seq);
int inflight_resolve_unknown(struct channel *c, struct err *e);
/* The channel could not say what became of one; it is asked again later. */
void inflight_query_failed(struct channel *c, int64_t now);
void inflight_retry_query(struct channel *c, int64_t now); /* if it is time */

#endif
