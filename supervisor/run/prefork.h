#ifndef SUPERVISOR_RUN_PREFORK_H
#define SUPERVISOR_RUN_PREFORK_H

#include "ipc/spawn.h"
#include "lib/base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * Preforked workers: workers that wait for a run, so that its start costs
 * neither a fork nor a cgroup nor fresh memory, and its row has the pid from
 * the first commit.
 *
 * The start message of a preforked worker is a pipe into which nothing was
 * written yet. prefork_assign writes the message and closes the pipe; the
 * worker then waits at its start barrier (worker/run/attempt.h) like any other.
 * A worker that was not assigned has done nothing. When skepd ends in any way,
 * the pipe closes without a message and the worker exits. It has no row and is
 * never adopted.
 *
 * They are forked when no run has started for a moment, so they cost nothing
 * under a steady load; workers are then forked on demand.
 */
struct supervisor;
struct active_run;

struct prefork_pool {
	struct preforked *first; /* oldest first */
	int64_t count;
	uv_timer_t refill;
	int failures;      /* in a row */
	int64_t pause_ms;  /* pause before the next fork, after failures */
	bool cgroups_left; /* cgroups of preforked workers may be left */
};

void prefork_open(struct supervisor *s);
/* Kills them and waits until they have exited. Call it after spawn_close. */
void prefork_close(struct supervisor *s);

/* Makes a preforked worker the worker of the run and writes its start message.
 * Returns false, without a change, if none is ready. */
bool prefork_assign(struct active_run *l, const struct buf *start);

/* Number of workers that are ready for a run. */
int64_t prefork_ready(const struct supervisor *s);

/* A run starts: postpones the next fork. */
void prefork_postpone(struct supervisor *s);

/* Handles a report of the spawner about a preforked worker. Takes pidfd. */
void prefork_on_spawn_event(struct supervisor *s, const struct spawn_event *t,
			    int pidfd);

/* A child of the spawner exited. Returns whether it was a preforked worker. */
bool prefork_on_exit(struct supervisor *s, pid_t pid);

/* Drops all of them: the spawner died, or the rows are read again. */
void prefork_drop(struct supervisor *s);

/* Removes cgroups of preforked workers that have exited. Called by the tick. */
void prefork_remove_cgroups(struct supervisor *s);

#endif
