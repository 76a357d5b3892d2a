#ifndef SUPERVISOR_CORE_JOBS_H
#define SUPERVISOR_CORE_JOBS_H

#include "lib/db/sql.h"
#include "schema/config.h"
#include "schema/home.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Scheduled jobs: backups and maintenance. skepd runs the command that a user
 * would run, as a child process with the lowest priority, one at a time. So a
 * job does not block the loop and cannot crash it.
 */
enum { JOB_KINDS = 2 };

struct jobs {
	const struct home *home;
	const struct config *config;
	struct sql *db;
	pid_t child; /* 0: no job is running */
	int job;     /* index of the running job */
	/* clock_now of the next start; 0: not computed yet */
	int64_t next[JOB_KINDS];
};

void jobs_init(struct jobs *k, const struct home *home,
	       const struct config *config, struct sql *db);
void jobs_tick(struct jobs *k);  /* called a few times a second */
void jobs_close(struct jobs *k); /* stops the running job */

#endif
