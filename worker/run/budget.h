#ifndef WORKER_RUN_BUDGET_H
#define WORKER_RUN_BUDGET_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Reserves a call of a model, if the home has budgets. At a soft limit, a user is
 * asked. At a hard limit that pauses, it waits until the budget is available
 * again. Returns 0 if the call may be made, 1 if the run must end with
 * REASON_budget and the detail, or -1.
 */
struct run;

#define BUDGET_DETAIL 256

struct budget_call {
	int64_t tokens, cost_micros; /* estimates */
	bool each;                   /* the driver reserves each call */
};

int run_reserve(struct run *r, const struct budget_call *call,
		char detail[BUDGET_DETAIL], struct err *e);

#endif
