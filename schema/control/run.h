#ifndef SCHEMA_CONTROL_RUN_H
#define SCHEMA_CONTROL_RUN_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/control_queries.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Runs in the control plane. Every function is called inside the transaction of
 * the caller (sql_enter) and keeps row, transition and host event consistent.
 * Texts passed in are borrowed; texts of rows live in the arena.
 */
#define RUN_PROMPT_MAX  (1u << 20) /* bytes */
#define RUN_OPTIONS_MAX (2u << 20)
#define RUN_KEY_MAX \
	256 /* bytes of a session, invocation, idempotency
			     * key */

enum run_state {
#define RUN_STATE(name, word, kind) RUN_##name,
#include "schema/control/run_state.def"
#undef RUN_STATE
	RUN_STATES
};

/* The final state that follows when no process of the run is left. */
enum run_pending_state {
	RUN_PENDING_NONE,
	RUN_PENDING_SUCCEEDED,
	RUN_PENDING_FAILED,
	RUN_PENDING_CANCELLED,
	RUN_PENDING_TIMED_OUT,
	RUN_PENDING_QUEUED,
	RUN_PENDING_STATES
};

const char *run_state_name(enum run_state s);
int run_state_from(const char *word); /* -1: no such state */
bool run_state_is_over(enum run_state s);
bool run_row_is_over(const struct run_row *row);
bool run_state_lives(enum run_state s); /* has a process, or may have one */
const char *run_pending_name(enum run_pending_state v); /* NULL for none */
enum run_pending_state run_pending_from(const char *word);

/* Codes of run_reason.def as constants, so that a typing error does not
 * compile. */
#define RUN_REASON(code, word) extern const char run_reason_##code[];
#include "schema/control/run_reason.def"
#undef RUN_REASON

/* Writes the reasons of the supervisor to the table, at start; then further
 * ones. */
int run_reasons_seed(struct sql *db, struct err *e);
int run_reason_seed(struct sql *db, const char *code, const char *description,
		    struct err *e);

/* A request for a run. NULL and OPT_NONE: not given. */
struct run_request {
#define RUN_MEMBER(field, name, type, need, column, again, option) \
	field_##field name;
#include "schema/control/run_request.def"
#undef RUN_MEMBER
	const char *retry_of;
	const char *command; /* a shell command instead of the driver */
	const char *by;
	int64_t max_depth;         /* limit of the nesting of runs */
	int64_t session_queue_max; /* queued runs per session */
};

/* Copies the members that are set in *from. */
void run_request_merge(struct run_request *to, const struct run_request *from);

struct run_made {
	struct id id;
	bool is_new;             /* false: the idempotency key was known */
	char interrupt[ID_SIZE]; /* the run that is replaced, or "" */
};

/* ERR_INVALID, ERR_CONFLICT (policy reject, or the key with other content),
 * ERR_NOTFOUND (parent), ERR_RATELIMIT (the queue is full). */
int run_enqueue(struct sql *db, const struct run_request *request, int64_t now,
		struct run_made *out, struct err *e);

/* Picks the next run that may start, fairly: highest priority first, agents in
 * turn within it. The caller keeps *p from one scheduling to the next, so that
 * the turns continue, and sets `took` if the run was started. A run that was
 * not started is not offered again this time. Returns 1, 0 if there is none, or
 * -1. */
struct run_pick {
	char agent[65];   /* the last agent; "" at first */
	char began[65];   /* the first agent of this round */
	int64_t priority; /* the current agent */
	bool open;        /* a round is in progress */
	bool wrapped;     /* the round has passed the last agent */
	bool took;        /* a run of the round was started */
};

void run_pick_begin(struct run_pick *p); /* keeps the last agent */
int run_pick_next(struct sql *db, struct run_pick *p, struct run_next_row *out,
		  struct arena *a, struct err *e);

/* One transition: compare and set, row of the transition, host event.
 * ERR_CONFLICT if the run is not in `from`. A transition to a final state also
 * closes the row and makes the next run of the session the first one; a
 * transition to QUEUED waits until due_at. */
struct run_transition {
	const char *id, *agent, *session;
	int64_t attempt;
	enum run_state from, to;
	enum run_pending_state pending_state;
	const char *reason, *detail;
	int64_t due_at; /* for QUEUED only */
	int64_t now;
};

int run_change_state(struct sql *db, const struct run_transition *m,
		     struct err *e);

/* Queues delayed runs that are due; returns their number, or -1. */
int run_wake(struct sql *db, int64_t now, struct arena *a, struct err *e);

#endif
