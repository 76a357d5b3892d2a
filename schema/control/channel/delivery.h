#ifndef SCHEMA_CONTROL_CHANNEL_DELIVERY_H
#define SCHEMA_CONTROL_CHANNEL_DELIVERY_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/control_queries.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The durable queue of outgoing messages (delivery_fsm.def has the states of a
 * row). Every function is called inside the transaction of the caller and keeps
 * row, queue, attempts and host event consistent. Texts passed in are borrowed;
 * texts of rows live in the arena.
 *
 * Order: rows with the same ordering_key are sent one after the other. One of
 * the queued rows of a key is the next one and may be sent. The one after it
 * follows when it is over, or when only a user can decide whether it arrived
 * (REVIEW).
 */
enum delivery_state {
#define DELIVERY_STATE(name, word, kind) DELIVERY_##name,
#define DELIVERY_TRANSITION(from, event, to)
#include "schema/control/channel/delivery_fsm.def"
#undef DELIVERY_STATE
#undef DELIVERY_TRANSITION
	DELIVERY_STATES
};

enum delivery_event {
	DELIVERY_EV_CLAIM,
	DELIVERY_EV_ACK,
	DELIVERY_EV_FAIL,
	DELIVERY_EV_REFUSE,
	DELIVERY_EV_EXPIRE,
	DELIVERY_EV_LOSE,
	DELIVERY_EV_REVIEW,
	DELIVERY_EV_RETRY,
	DELIVERY_EV_DISCARD,
	DELIVERY_EVENTS
};

struct delivery_transition {
	bool allowed;
	enum delivery_state to;
};

struct delivery_transition delivery_fsm(enum delivery_state s,
					enum delivery_event e);
const char *delivery_state_name(enum delivery_state s);
int delivery_state_from(const char *word);            /* -1: no such state */
bool delivery_state_is_over(enum delivery_state s);   /* it is final */
bool delivery_state_is_queued(enum delivery_state s); /* waits or is in
						       * flight */

struct delivery_new {
	const char *channel;
	const char *conversation; /* or NULL */
	const char *ordering_key; /* order; NULL: none */
	const char *source_key;   /* of an outbox row; NULL: none */
	const char *agent, *session, *reply_to;
	const char *body; /* JSON */
	const char *resend_of;
	int64_t max_age_ms; /* OPT_NONE: no limit */
};

/* Returns 1 and its id, 0 if the source is known and nothing is added, or
 * -1. */
int delivery_add(struct sql *db, const struct delivery_new *d, int64_t now,
		 struct id *id, struct err *e);

/* Claims up to `max` deliveries that may be sent now, oldest first. Returns
 * their number or -1. Deliveries that are too old become dead instead. `rows`
 * is an array in the arena. */
struct delivery_claim {
	const char *channel;
	const char *conversation; /* only of this conversation, or NULL */
	int64_t epoch, lease_ms, now;
	int max;
};

struct claimed_delivery {
	struct delivery_claim_row row;
	struct id attempt;
};

int delivery_claim(struct sql *db, const struct delivery_claim *t,
		   struct claimed_delivery **rows, struct arena *a,
		   struct err *e);

/* The outcome of an attempt, or a request of a user. */
struct delivery_end {
	int64_t seq;
	const char *id, *channel, *ordering_key, *agent;
	const char *attempt_id; /* NULL: any attempt */
	int64_t attempts;
	int64_t started_at; /* of the attempt; OPT_NONE: there was none */
	enum delivery_state from;
	enum delivery_event event;
	int64_t due_at;        /* only for a return to pending; else OPT_NONE */
	int64_t remote_status; /* or OPT_NONE */
	const char *detail, *remote_id;
};

/* Returns 1, 0 without a change if the row has changed meanwhile, or -1. */
int delivery_record(struct sql *db, const struct delivery_end *d, int64_t now,
		    struct err *e);

struct delivery_end delivery_end_of(const struct delivery_row *row);

/* A command of an operator. ERR_NOTFOUND; ERR_CONFLICT names the state. */
int delivery_operate(struct sql *db, const char *id, enum delivery_event what,
		     int64_t now, struct delivery_row *row, struct arena *a,
		     struct err *e);

/* A new delivery of the same message, with its own key. */
int delivery_resend(struct sql *db, const char *id, int64_t now,
		    struct id *made, struct err *e);

#endif
