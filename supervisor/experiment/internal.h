#ifndef SUPERVISOR_EXPERIMENT_INTERNAL_H
#define SUPERVISOR_EXPERIMENT_INTERNAL_H

#include "schema/control_queries.h"
#include "supervisor/core/supervisor.h"

#include <stdbool.h>
#include <stdint.h>

/* What the files of this directory share. */
struct experiments {
	bool due;        /* a step may be due */
	bool failed;     /* the end of a step could not be recorded */
	int64_t working; /* steps that threads carry out */
};

/* A step may be due: it is carried out before the commit of this turn. */
void experiments_wake(struct supervisor *s);

/* steps.c: carries out the steps of experiments that are due. */
int advance_experiments(struct supervisor *s, struct err *e);

/* start.c: adds `runs` trials of each variant, with seeds from `seed` on. */
int experiment_add_trials(struct supervisor *s, const char *id, int64_t runs,
			  int64_t seed, struct err *e);

/* trial.c: starts the run of a trial, or its check. A run that cannot start
 * ends the trial. */
int trial_start(struct supervisor *s, const struct trial_next_row *t,
		struct err *e);
int trial_check(struct supervisor *s, const struct trial_next_row *t,
		struct err *e);

#endif
