#ifndef CLI_TRY_TRY_STATS_H
#define CLI_TRY_TRY_STATS_H

#include "cli/cli.h"
#include "lib/report/stats.h"

/*
 * The results of an experiment by variant: medians with their spread, and the
 * p-values of the differences between variants. Only trials that succeeded count
 * for times, tokens, costs and files.
 */
enum try_metric {
	TRY_TIME,   /* seconds */
	TRY_TOKENS, /* input and output */
	TRY_COST,
	TRY_FILES, /* changed */
	TRY_CHECK, /* 1: passed, 0: not */
	TRY_METRICS
};

extern const char *const try_metric_names[TRY_METRICS];
extern const char *const try_metric_units[TRY_METRICS];

struct try_variant {
	const char *name;
	int64_t number, trials, succeeded, checked, passed;
	struct samples samples[TRY_METRICS];
};

/* One variant per row, in the arena: how many. */
int try_stats(struct cli *cli, const struct trial_row *trials, int n,
	      struct try_variant **out);

/* Prints the variants and compares each pair; nothing for a single trial. */
void try_stats_print(struct cli *cli, const struct try_variant *v, int n);

#endif
