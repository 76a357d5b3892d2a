#ifndef WORKER_DRIVER_DRIVER_H
#define WORKER_DRIVER_DRIVER_H

#include "ipc/end_reason.h"
#include "worker/run/run.h"

#include <stdbool.h>

/*
 * What a worker executes. A driver is straight-line code: its run() works until
 * the end, waits only in run_poll, run_wait and run_ask, and looks there
 * whether it shall end. It need not tidy up processes: after run() the whole
 * tree below the worker is ended, unless it succeeded and wants to keep what
 * the session's next run can use (r->idle_ms, r->held; worker/run/idle.h).
 */
struct run_end {
	enum reason reason;
	char detail[480];
	int64_t exit_code; /* OPT_NONE: there is none */
	int64_t signal;
};

struct driver {
	const char *name;
	bool commands;      /* starts some, in a workspace that it opens */
	bool plain_box;     /* their sandbox follows from the start message */
	bool pauses_itself; /* in run_wait; otherwise its processes are stopped */

	/* 0 with *end filled; or -1, and ERR_CANCELED is for "I was asked to". */
	int (*run)(struct run *r, struct run_end *end, struct err *e);

	/* What run() left in r->held will not be used: lets go of it. The
	 * processes are ended by others. */
	void (*release)(struct run *r);

	/* May a message be given to it now? If not, *e says why. */
	int (*accepts)(struct run *r, struct err *e);

	/* A message, or an answer to a question; committed already. */
	void (*on_message)(struct run *r, const struct msg *m);
};

#define DRIVER(name) extern const struct driver driver_##name;
#include "worker/driver/drivers.def"
#undef DRIVER

/* Those of other programs: this one has it too. Borrowed. */
void driver_link(const struct driver *d);

/* NULL, or the name of a driver that this program does not have: the worker
 * shall become skep-worker-NAME. */
const char *driver_program(const char *name);

/* NULL with ERR_INVALID, naming those there are. */
const struct driver *driver_find(const char *name, struct err *e);

#endif
