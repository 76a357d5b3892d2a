#ifndef SUPERVISOR_SKEPD_H
#define SUPERVISOR_SKEPD_H

#include "base/err.h"

/* The whole program: from the configuration to the end of the loop. */
struct skepd_options {
	const char *home; /* NULL: as the environment says */
	const char *log;  /* file to append to; NULL: stderr */
};

int skepd_run(const struct skepd_options *o, struct err *e);

#endif
