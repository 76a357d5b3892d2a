#ifndef SUPERVISOR_CORE_JOBS_H
#define SUPERVISOR_CORE_JOBS_H

#include "lib/db/sql.h"
#include "schema/config.h"
#include "schema/home.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Jobs that skepd has done now and then: backups by the schedule, upkeep. It starts
 * the very command that a person would, as a process with the least weight, one
 * at a time; so a job costs the loop nothing and cannot hurt it.
 */
enum { JOB_KINDS = 2 };

struct jobs {
	const struct home *home;
	const struct config *config;
	struct sql *db;
	pid_t child;             /* 0: none */
	int job;                 /* that it does */
	int64_t next[JOB_KINDS]; /* clock_now; 0: not known yet */
};

void jobs_init(struct jobs *k, const struct home *home,
	       const struct config *config, struct sql *db);
void jobs_tick(struct jobs *k);  /* a few times a second */
void jobs_close(struct jobs *k); /* stops what is being done */

#endif
