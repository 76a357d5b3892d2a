#ifndef SUPERVISOR_RUN_PREFORK_H
#define SUPERVISOR_RUN_PREFORK_H

#include "ipc/spawn.h"
#include "lib/base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * Spares: a few workers that are forked, set up and waiting for a run, so that
 * its start costs neither fork nor cgroup nor fresh memory, and its process is
 * in the row from the first commit on.
 *
 * A spare is a worker like any other, but its start message is a pipe into
 * which nothing was written yet. Whoever takes it writes the message and closes
 * the pipe; then it waits at its gate (worker/run/attempt.h) as every worker
 * does. A spare that was not taken has done nothing: when we go, however we go,
 * the pipe closes without a message, and so does the spare. It is no run's, in
 * no row and never adopted.
 *
 * They are made when nothing has started for a moment, so that under a steady
 * load they cost nothing; then workers are forked as they are needed.
 */
struct supervisor;
struct active_run;

struct prefork_pool {
	struct preforked *first; /* the oldest */
	int64_t count;
	uv_timer_t refill;
	int failures;     /* one after the other */
	int64_t pause_ms; /* before the next is made, when the last ones failed */
	bool cgroups_left; /* a cgroup of a spare may be left */
};

void prefork_open(struct supervisor *s);
/* After the spawner: ends them, and waits until they are gone. */
void prefork_close(struct supervisor *s);

/* Gives the live run a spare for its worker, and the spare its start message:
 * true; or false, there is none that could take it, and nothing was changed. */
bool prefork_assign(struct active_run *l, const struct buf *start);

/* How many could take a run now. */
int64_t prefork_ready(const struct supervisor *s);

/* A run starts: whoever is to be made has to wait. */
void prefork_postpone(struct supervisor *s);

/* What the spawner says of one, by its id; the pidfd is taken. */
void prefork_on_spawn_event(struct supervisor *s, const struct spawn_told *t,
			    int pidfd);

/* A child of the spawner ended: was it a spare? */
bool prefork_on_exit(struct supervisor *s, pid_t pid);

/* The spawner is gone, or the rows are read again: none is kept. */
void prefork_drop(struct supervisor *s);

/* Removes cgroups of preforked workers that are over; every now and then. */
void prefork_remove_cgroups(struct supervisor *s);

#endif
