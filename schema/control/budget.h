#ifndef SCHEMA_CONTROL_BUDGET_H
#define SCHEMA_CONTROL_BUDGET_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/db/sql.h"
#include "schema/control_queries.h"

/*
 * Budgets: limits of the tokens, the money, the number and the time of runs. A
 * budget counts per home, agent, channel, session or run, in a day, a month or in
 * total. A call of a model is reserved before it and charged after it, so runs at
 * the same time exceed a hard limit by at most one call each.
 *
 * All functions run inside the transaction of the caller. Texts are borrowed.
 */

/* A run, as budgets see it. */
struct budget_run {
	const char *id, *agent, *session;
	const char *channel; /* whose message started it, or NULL */
};

/* What a run uses, in the units of the rows. */
struct budget_amount {
	int64_t tokens, micros, runs, ms;
};

enum budget_verdict {
	BUDGET_FREE,
	BUDGET_ASK, /* a soft limit is reached, and a user has to allow more */
	BUDGET_PAUSE, /* a hard limit is reached */
	BUDGET_END,
};

#define BUDGET_KEY   128
#define BUDGET_NEVER INT64_C(253402300799000) /* the end of year 9999 */

struct budget_decision {
	enum budget_verdict verdict;
	char name[65];
	char key[BUDGET_KEY]; /* of the approval */
	char detail[256];     /* for users */
	int64_t resets_at;    /* BUDGET_NEVER: it is a total */
};

/* Fills in the channel of a run; it is in the arena. */
int budget_find_channel(struct sql *db, struct budget_run *run, struct arena *a,
			struct err *e);

/* Decides whether the run may start (`starting`), or make its next call. The
 * strictest budget decides. */
int budget_check(struct sql *db, const struct budget_run *run, bool starting,
		 int64_t now, struct budget_decision *out, struct err *e);

/* Reserves an estimate for the next call, in place of an earlier one. */
int budget_reserve(struct sql *db, const struct budget_run *run,
		   const struct budget_amount *estimate, struct err *e);

/* Adds to the counts of all budgets of the run. */
int budget_charge(struct sql *db, const struct budget_run *run,
		  const struct budget_amount *amount, int64_t now,
		  struct err *e);

/* A user allowed the run to exceed the soft limits with this key. */
int budget_allow(struct sql *db, const struct budget_run *run, const char *key,
		 int64_t now, struct err *e);

/* The period of a budget at a time: its start (0: total) and end. Days and months
 * are those of the local time zone. */
void budget_period(const char *period, int64_t now, int64_t *start,
		   int64_t *end);

/* Stores a budget; created_at and updated_at are set. ERR_INVALID says what is
 * wrong. If it counts something else than before, its counts are deleted. Returns
 * 1 if it is new, 0 if it was changed. */
int budget_store(struct sql *db, struct budget_row *row, int64_t now,
		 struct err *e);

/* A budget and one of its counts. */
#define BUDGET_ITEM(F, S)                          \
	F(S, text, name)                           \
	F(S, text, subject) /* as in budget_use */ \
	F(S, text, per)                            \
	F(S, text, unit)                           \
	F(S, text, period)                         \
	F(S, time, period_start)                   \
	F(S, opt, soft)                            \
	F(S, i64, hard)                            \
	F(S, i64, used)                            \
	F(S, i64, reserved)                        \
	F(S, i64, remaining)                       \
	F(S, time, resets_at)                      \
	F(S, bool, is_allowed)                     \
	F(S, text, at_hard)                        \
	F(S, text, agent) F(S, text, session) F(S, text, channel)

SHAPE_DECLARE(budget_item, BUDGET_ITEM);

/* Lists the counts of all budgets in their current periods: calls fn for each. A
 * budget without a count has one with the subject "". */
typedef void budget_each(void *arg, const struct budget_item *item);
int budget_items(struct sql *db, const char *name, int64_t now, budget_each *fn,
		 void *arg, struct err *e);

/* "$1.50", "12000 tokens", "3 runs", "90s". */
void budget_text(const char *unit, int64_t amount, char *out, size_t cap);

#endif
