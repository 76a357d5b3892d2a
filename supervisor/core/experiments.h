#ifndef SUPERVISOR_CORE_EXPERIMENTS_H
#define SUPERVISOR_CORE_EXPERIMENTS_H

#include "supervisor/core/commands.h"

/*
 * The commands on experiments, by the rules of supervisor/core/commands.h. They
 * write rows; supervisor/experiment carries out the steps that follow.
 */
#define EXPERIMENT_VARIANTS_MAX 100
#define EXPERIMENT_TRIALS_MAX   1000

struct experiment_request {
	const char *agent;    /* whose namespace is the source */
	const char *from;     /* NAMESPACE[@SNAPSHOT], or NULL: main */
	const char *variants; /* JSON: [{name, agent, prompt, config}, …] */
	const char *check;    /* shell command, or NULL */
	int64_t runs;         /* of each variant */
	int64_t seed;         /* of the first trial */
	bool keep;            /* the forks, after a pick */
	const char *by;
};

int supervisor_experiment_start(struct supervisor *s,
				const struct experiment_request *req,
				struct completion done, struct err *e);

struct experiment_choice {
	const char *id;
	int64_t trial;
	const char *strategy;      /* ours, theirs, or NULL: refuse conflicts */
	const char *ours, *theirs; /* JSON lists of paths, or NULL: none */
	bool keep;                 /* the forks */
};

int supervisor_experiment_pick(struct supervisor *s,
			       const struct experiment_choice *choice,
			       const char *by, struct completion done,
			       struct err *e);
/* Cancels its runs and deletes its forks; the results are kept. */
int supervisor_experiment_drop(struct supervisor *s, const char *id,
			       const char *by, struct completion done,
			       struct err *e);
/* Starts the trials that did not succeed once more. */
int supervisor_experiment_resume(struct supervisor *s, const char *id,
				 const char *by, struct completion done,
				 struct err *e);
/* Adds trials to each variant. */
int supervisor_experiment_extend(struct supervisor *s, const char *id,
				 int64_t runs, const char *by,
				 struct completion done, struct err *e);

#endif
