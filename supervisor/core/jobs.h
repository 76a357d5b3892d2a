#ifndef SUPERVISOR_CORE_JOBS_H
#define SUPERVISOR_CORE_JOBS_H

#include "lib/db/sql.h"
#include "schema/config.h"
#include "schema/home.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Chores that skepd has done now and then: backups by the schedule, upkeep. It starts
 * the very command that a person would, as a process with the least weight, one
 * at a time; so a chore costs the loop nothing and cannot hurt it.
 */
enum { KEEPER_CHORES = 2 };

struct keeper {
	const struct home *home;
	const struct config *config;
	struct sql *db;
	pid_t child;                 /* 0: none */
	int chore;                   /* that it does */
	int64_t next[KEEPER_CHORES]; /* clock_now; 0: not known yet */
};

void keeper_init(struct keeper *k, const struct home *home,
		 const struct config *config, struct sql *db);
void keeper_tick(struct keeper *k);  /* a few times a second */
void keeper_close(struct keeper *k); /* stops what is being done */

#endif
