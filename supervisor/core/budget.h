#ifndef SUPERVISOR_CORE_BUDGET_H
#define SUPERVISOR_CORE_BUDGET_H

#include "schema/control/budget.h"
#include "supervisor/core/commands.h"

/* Commands on budgets, by the rules of supervisor/core/commands.h. Runs that wait
 * for a budget are considered again after each. */
int supervisor_budget_put(struct supervisor *s, const struct budget_row *row,
			  const char *by, struct completion done,
			  struct err *e);
int supervisor_budget_delete(struct supervisor *s, const char *name,
			     const char *by, struct completion done,
			     struct err *e);

#endif
