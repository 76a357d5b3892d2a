#ifndef SUPERVISOR_DAEMON_H
#define SUPERVISOR_DAEMON_H

#include "lib/base/err.h"

/* The program skepd: reads the configuration, runs the loop, shuts down. */
struct skepd_options {
	const char *home; /* NULL: from the environment */
	const char *log;  /* file to append to; NULL: stderr */
	/* Only check whether skepd could start. HOST:PORT of the supervisor
	 * that it would replace, or "". */
	const char *check;
};

/* Runs skepd. Returns 1 if it ran read-only and there is space now: the caller
 * executes the program again. */
int skepd_run(const struct skepd_options *o, struct err *e);

/* Checks configuration, listening address and schema, as for a start beside a
 * running skepd. Changes nothing. */
int skepd_check(const struct skepd_options *o, struct err *e);

#endif
