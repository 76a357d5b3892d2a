#ifndef SUPERVISOR_EXPERIMENT_EXPERIMENT_H
#define SUPERVISOR_EXPERIMENT_EXPERIMENT_H

#include "lib/base/err.h"

/*
 * Experiments as the composition root sees them. The commands on experiments
 * are in commands.h.
 */
struct supervisor;

/* Reads which experiments have to be continued. */
int experiments_open(struct supervisor *s, struct err *e);
void experiments_free(struct supervisor *s);

/* Carries out the steps that are due. */
void experiments_before_commit(struct supervisor *s);

/* Looks at the rows from time to time: a hint may be lost, or a step may have
 * failed. */
void experiments_tick(struct supervisor *s);

#endif
