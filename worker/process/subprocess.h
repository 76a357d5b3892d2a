#ifndef WORKER_PROCESS_SUBPROCESS_H
#define WORKER_PROCESS_SUBPROCESS_H

#include "worker/driver/driver.h"
#include "worker/process/child.h"
#include "worker/process/output.h"

/*
 * A command that a driver talks with: what it shall read waits in `input` and
 * is written as it reads, what it says on stdout goes to `heard`, and what it
 * says on stderr to the transcript. Its memory is the driver's; the process is
 * the tree's.
 */
#define SUBPROCESS_INPUT_MAX (64u << 20) /* that the command has not read yet */

struct subprocess {
	struct run *run; /* borrowed */
	struct child child;
	struct buf input;
	bool input_ends; /* close when written */
	struct exec_output output;
	int (*heard)(void *arg, const char *p, size_t n, struct err *e);
	void *arg;
};

void subprocess_init(struct subprocess *t, struct run *r);
void subprocess_fini(struct subprocess *t);

/* Starts the command: 1. 0: it cannot be started, *end says why. */
int subprocess_start(struct subprocess *t, const struct child_spec *spec,
		     struct run_end *end);

void subprocess_write(
	struct subprocess *t); /* as much as the command takes now */
void subprocess_close_input(struct subprocess *t);

/* Commits what is due, waits for at most ms for the command, for what is
 * wanted of the run, or for `more` (-1: nothing more), and reads and writes. */
int subprocess_poll(struct subprocess *t, int more, int64_t ms, struct err *e);

/* After the tree is gone: takes what is still in the pipes, and ends texts that
 * grow as done, or aborted when the run was asked to end. */
int subprocess_drain(struct subprocess *t, struct err *e);

/* What the status of the command that has ended means for the run. */
void subprocess_outcome(const struct subprocess *t, int status,
			struct run_end *end);

#endif
