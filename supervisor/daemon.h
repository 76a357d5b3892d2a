#ifndef SUPERVISOR_DAEMON_H
#define SUPERVISOR_DAEMON_H

#include "lib/base/err.h"

/* The whole program: from the configuration to the end of the loop. */
struct skepd_options {
	const char *home; /* NULL: as the environment says */
	const char *log;  /* file to append to; NULL: stderr */
	/* HOST:PORT of the supervisor to be replaced, or "": only check whether
	 * this one could start. */
	const char *check;
};

/* 1: it ran read-only, and there is space now: the program is to be executed
 * again. */
int skepd_run(const struct skepd_options *o, struct err *e);

/* Whether it could start while another one runs: the configuration, the address
 * to listen on, the schema. Changes nothing. */
int skepd_check(const struct skepd_options *o, struct err *e);

#endif
