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

struct budget_check {
	struct doctor *d;
	const char *budget; /* of the last item */
};

/* A budget has an item for each of its counts, one after the other. */
static void check_targets(struct budget_check *c,
			  const struct budget_item *item)
{
	const char *kind = NULL, *name = NULL;

	if (c->budget && strcmp(c->budget, item->name) == 0)
		return;
	c->budget = arena_text(&c->d->arena, item->name);
	if (is_missing(c->d, item->agent, NULL)) {
		kind = "agent";
		name = item->agent;
	} else if (is_missing(c->d, NULL, item->channel)) {
		kind = "channel";
		name = item->channel;
	}
	if (kind)
		doctor_report(c->d, FINDING_budget_idle, item->name,
			      "it counts runs of %s %s, which does not exist",
			      kind, name);
}

static void check_budget(void *arg, const struct budget_item *item)
{
	struct budget_check *c = arg;
	char used[64], hard[64];

	check_targets(c, item);
	/* Of a run, it limits only that run. */
	if (item->used < item->hard || strcmp(item->per, "run") == 0)
		return;
	budget_text(item->unit, item->used, used, sizeof used);
	budget_text(item->unit, item->hard, hard, sizeof hard);
	doctor_report(c->d, FINDING_budget_exhausted, item->name,
		      "%s%s%s were used of %s", item->subject,
		      item->subject[0] ? ": " : "", used, hard);
}

void doctor_budgets(struct doctor *d)
{
	struct err ignored; /* doctor_databases reports it */
	struct budget_check c = {.d = d};

	(void)budget_items(d->control, NULL, clock_now(), check_budget, &c,
			   &ignored);
}
