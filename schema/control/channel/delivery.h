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
 * The durable queue to the outside (delivery_fsm.def is the life of a row).
 * Every function is called inside the caller's transaction and keeps row, queue,
 * attempts and host event consistent. Texts handed in are
 * borrowed; texts of rows live in the arena.
 *
 * Order: rows with the same ordering_key are sent one after the other. One of
 * the queued rows of a key is the next one, and may be sent; the one after it
 * follows when it is over, or when only a person can tell whether it arrived
 * (REVIEW).
 */
enum delivery_state {
#define DELIVERY_STATE(name, word, kind) DELIVERY_##name,
#define DELIVERY_MOVE(from, event, to)
#include "schema/control/channel/delivery_fsm.def"
#undef DELIVERY_STATE
#undef DELIVERY_MOVE
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

struct delivery_step {
	bool allowed;
	enum delivery_state to;
};

struct delivery_step delivery_fsm(enum delivery_state s, enum delivery_event e);
const char *delivery_state_name(enum delivery_state s);
int delivery_state_from(const char *word);            /* -1: no such state */
bool delivery_state_is_over(enum delivery_state s);   /* it is final */
bool delivery_state_is_queued(enum delivery_state s); /* waits, or under way */

struct delivery_new {
	const char *channel;
	const char *conversation; /* or NULL */
	const char *ordering_key; /* order; NULL: none */
	const char *source_key;   /* of an outbox row; NULL: none */
	const char *agent, *session, *reply_to;
	const char *body; /* JSON */
	const char *resend_of;
	int64_t max_age_ms; /* OPT_NONE: never too old */
};

/* 1 and its id; 0 if the source is known: nothing is added; -1. */
int delivery_add(struct sql *db, const struct delivery_new *d, int64_t now,
		 struct id *id, struct err *e);

/* Takes up to `max` that may be sent now, oldest first: how many, or -1. What
 * is too old ends as dead instead. `rows` is an array in the arena. */
struct delivery_claim {
	const char *channel;
	const char *conversation; /* of this one only, or NULL */
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

/* What became of an attempt, or what somebody wants. */
struct delivery_end {
	int64_t seq;
	const char *id, *channel, *ordering_key, *agent;
	const char *attempt_id; /* NULL: whichever it was */
	int64_t attempts;
	int64_t started_at; /* of the attempt; OPT_NONE: none was made */
	enum delivery_state from;
	enum delivery_event event;
	int64_t due_at;        /* back to pending only; else OPT_NONE */
	int64_t remote_status; /* or OPT_NONE */
	const char *detail, *remote_id;
};

/* 1; 0 if the row has moved on meanwhile: nothing is changed; -1. */
int delivery_record(struct sql *db, const struct delivery_end *d, int64_t now,
		    struct err *e);

struct delivery_end delivery_end_of(const struct delivery_row *row);

/* By an operator. ERR_NOTFOUND; ERR_CONFLICT names the state. */
int delivery_operate(struct sql *db, const char *id, enum delivery_event what,
		     int64_t now, struct delivery_row *row, struct arena *a,
		     struct err *e);

/* A new delivery of the same message, with a key of its own. */
int delivery_resend(struct sql *db, const char *id, int64_t now,
		    struct id *made, struct err *e);

#endif
