#include "bench/suites/tree.h"

#include <stdio.h>
#include <string.h>

static const struct aim {
	const char *metric, *beside;
	bool within;
	double times;
	const char *whose;
} aims[] = {
#define AIM_FASTER(metric, beside, times, whose) \
	{#metric, #beside, false, times, whose},
#define AIM_WITHIN(metric, beside, times, whose) \
	{#metric, #beside, true, times, whose},
#include "bench/suites/tree_targets.def"
#undef AIM_FASTER
#undef AIM_WITHIN
};

/* "create_us" and "bindfs" become "create_of_bindfs": ours, in times of it. */
static void compare_aim(struct bench_run *r, const struct aim *a, double ours,
			double other)
{
	char name[96];

	snprintf(name, sizeof name, "%.*s_%s_%s", (int)strlen(a->metric) - 3,
		 a->metric, a->within ? "of" : "times", a->beside);
	bench_metric(r,
		     &(struct bench_metric){.metric = name,
					    .unit = "times",
					    .value = a->within ? ours / other
							       : other / ours,
					    .less_is_better = a->within,
					    .against = a->whose,
					    .against_value = a->times});
}

void tree_targets(struct bench_run *r, const char *metric,
		  const struct bench_result *res, size_t n)
{
	for (size_t i = 0; i < sizeof aims / sizeof aims[0]; i++)
		for (size_t k = 1; k < n; k++)
			if (!strcmp(aims[i].metric, metric) &&
			    !strcmp(aims[i].beside, res[k].name) &&
			    res[0].values.n && res[k].values.n)
				compare_aim(r, &aims[i],
					    samples_median(&res[0].values),
					    samples_median(&res[k].values));
}

void tree_limit(struct bench_run *r, const char *metric, const char *unit,
		double value, double most)
{
	bench_metric(r, &(struct bench_metric){.metric = metric,
					       .unit = unit,
					       .value = value,
					       .less_is_better = true,
					       .against = "limit",
					       .against_value = most});
}
