#ifndef WORKER_DRIVER_DRIVER_H
#define WORKER_DRIVER_DRIVER_H

#include "ipc/end_reason.h"
#include "worker/run/run.h"

#include <stdarg.h>
#include <stdbool.h>

/*
 * The interface of drivers. run() works until the end, waits only in run_poll,
 * run_wait and run_ask, and checks there whether the run is to end. It need not
 * clean up processes: after run(), all processes below the worker are ended,
 * unless the run succeeded and the driver keeps some for the session's next run
 * (r->idle_ms, r->reuse; worker/run/idle.h).
 */
struct run_end {
	enum reason reason;
	char detail[480];
	int64_t exit_code; /* OPT_NONE: none */
	int64_t signal;
};

/* Sets reason and detail; a detail that is too long is cut and marked. */
void run_end_set(struct run_end *end, enum reason reason, const char *fmt,
		 va_list ap) __attribute__((format(printf, 3, 0)));

struct driver {
	const char *name;
	bool commands;      /* starts processes, in a workspace that it opens */
	bool plain_box;     /* their sandbox follows from the start message */
	bool pauses_itself; /* in run_wait; otherwise its processes are
			     * stopped */

	/* 0 with *end set; or -1, where ERR_CANCELED means that the end was
	 * requested. */
	int (*run)(struct run *r, struct run_end *end, struct err *e);

	/* Frees r->reuse, which will not be used. Other code ends the
	 * processes. */
	void (*release)(struct run *r);

	/* Can a message be delivered now? If not, *e has the reason. */
	int (*accepts)(struct run *r, struct err *e);

	/* A message, or an answer to a question; it is already committed. */
	void (*on_message)(struct run *r, const struct msg *m);
};

#define DRIVER(name) extern const struct driver driver_##name;
#include "worker/driver/drivers.def"
#undef DRIVER

/* Drivers of other programs: this program has the driver too. Borrowed. */
void driver_link(const struct driver *d);

/* NULL, or the name of a driver that this program does not have: the worker
 * then executes skep-worker-NAME. */
const char *driver_program(const char *name);

/* NULL with ERR_INVALID, which lists the drivers. */
const struct driver *driver_find(const char *name, struct err *e);

#endif
