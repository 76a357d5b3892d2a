#ifndef WORKER_PROCESS_SUBPROCESS_H
#define WORKER_PROCESS_SUBPROCESS_H

#include "worker/driver/driver.h"
#include "worker/process/child.h"
#include "worker/process/output.h"

/*
 * A command that a driver communicates with: `input` is written to its stdin as
 * it reads, its stdout is passed to `heard`, and its stderr is written to the
 * transcript. The driver owns the memory; process_tree.h handles the process.
 */
#define SUBPROCESS_INPUT_MAX (64u << 20) /* not read by the command yet */

struct subprocess {
	struct run *run; /* borrowed */
	struct child child;
	struct buf input;
	bool input_ends; /* close after it was written */
	struct exec_output output;
	int (*on_output)(void *arg, const char *p, size_t n, struct err *e);
	void *arg;
};

void subprocess_init(struct subprocess *t, struct run *r);
void subprocess_fini(struct subprocess *t);

/* Starts the command: 1. 0: it cannot be started, *end has the reason. */
int subprocess_start(struct subprocess *t, const struct child_spec *spec,
		     struct run_end *end);

void subprocess_write(
	struct subprocess *t); /* as much as the command accepts now */
void subprocess_close_input(struct subprocess *t);

/* Commits due data, waits for at most ms for the command, for commands to the
 * run, or for `more` (-1: none), and reads and writes. */
int subprocess_poll(struct subprocess *t, int more, int64_t ms, struct err *e);

/* After all processes have exited: reads the rest of the pipes, and ends
 * growing texts as done, or aborted if the end of the run was requested. */
int subprocess_drain(struct subprocess *t, struct err *e);

/* The end of the run that follows from the exit status of the command. */
void subprocess_outcome(const struct subprocess *t, int status,
			struct run_end *end);

#endif
