#ifndef SUPERVISOR_EXPERIMENT_WORK_H
#define SUPERVISOR_EXPERIMENT_WORK_H

#include "supervisor/core/agent_work.h"
#include "supervisor/experiment/internal.h"

#include "lib/base/arena.h"
#include "lib/base/buf.h"

/*
 * A step of an experiment in an agent file, carried out by a thread
 * (supervisor/core/agent_work.h). Each step may be repeated: if skepd is killed
 * before its end is recorded, the next skepd carries it out again.
 */
enum experiment_step {
	STEP_PREPARE,      /* take the snapshot that all trials start from */
	STEP_COUNT_FILES,  /* that a trial has changed */
	STEP_MERGE,        /* the fork of the winner into the source */
	STEP_DROP_FORK,    /* of a trial */
	STEP_DROP_SNAPSHOT /* of the source */
};

struct experiment_work {
	struct agent_work work;
	struct supervisor *sup;
	struct arena mem; /* of all texts */
	enum experiment_step step;
	const char *experiment;
	int64_t trial;
	const char *agent, *path; /* of the agent file */
	const char *source, *snapshot, *fork, *strategy;
	const char *const *ours, *const *theirs; /* paths; NULL at the end */
	/* STEP_MERGE: of a fork in the file of another agent, or NULL */
	const char *fork_agent, *fork_path;
	bool owns_snapshot;
	/* STEP_PREPARE: how the source is created if it is missing */
	const char *mode, *dir, *home;
	int64_t count; /* out: files or changes; OPT_NONE: there is no fork */
	struct buf conflicts; /* out: JSON array of paths */
	struct err err;
	int rc;
	/* on the loop, with the results; then the work is freed */
	int (*record)(struct experiment_work *w, struct err *e);
};

struct experiment_work *experiment_work_new(struct supervisor *s,
					    enum experiment_step step);
void experiment_work_free(struct experiment_work *w);

/* Finds the file of an agent: 0; 1: it is being migrated, and a hint follows;
 * -1. */
int experiment_open_file(struct experiment_work *w, const char *agent,
			 struct err *e);

/* Starts the thread after the commit of this turn. */
void experiment_work_start(struct experiment_work *w);

#endif
