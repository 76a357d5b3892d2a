#ifndef WORKER_DRIVER_CHAT_EXEC_H
#define WORKER_DRIVER_CHAT_EXEC_H

#include "lib/base/buf.h"
#include "worker/driver/chat/config.h"
#include "worker/run/run.h"

/* Runs one command line with /bin/sh in the workspace and sandbox of the run.
 * Adds its output and exit status to out. -1 with ERR_CANCELED if the run ends
 * meanwhile. No process of the command is left when this returns. */
int chat_exec(struct run *r, const struct chat_limits *l, const char *command,
	      struct buf *out, struct err *e);

#endif
