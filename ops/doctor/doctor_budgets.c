/* Budgets that are exhausted, or limit nothing. */
#include "ops/doctor/doctor.h"

#include <string.h>

#include "lib/base/clock.h"
#include "schema/control/budget.h"

static bool is_missing(struct doctor *d, const char *agent, const char *channel)
{
	struct budget_targets_in in = {agent, channel};
	struct budget_targets_row row = {0};
	struct err e;

	return sql_get(d->control, Q_BUDGET_TARGETS, &in, &row, NULL, &e) ==
		       1 &&
	       row.missing > 0;
}

static void check_budget(void *arg, const struct budget_item *item)
{
	struct doctor *d = arg;
	char used[64], hard[64];

	if (is_missing(d, item->agent, item->channel))
		doctor_report(d, FINDING_budget_idle, item->name,
			      "it counts runs of %s %s, which does not exist",
			      item->agent ? "agent" : "channel",
			      item->agent ? item->agent : item->channel);
	/* Of a run, it limits only that run. */
	if (item->used < item->hard || strcmp(item->per, "run") == 0)
		return;
	budget_text(item->unit, item->used, used, sizeof used);
	budget_text(item->unit, item->hard, hard, sizeof hard);
	doctor_report(d, FINDING_budget_exhausted, item->name,
		      "%s%s%s were used of %s", item->subject,
		      item->subject[0] ? ": " : "", used, hard);
}

void doctor_budgets(struct doctor *d)
{
	struct err ignored; /* doctor_databases reports it */

	(void)budget_items(d->control, NULL, clock_now(), check_budget, d,
			   &ignored);
}
