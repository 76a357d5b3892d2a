#ifndef WORKER_DRIVER_CHAT_EXEC_H
#define WORKER_DRIVER_CHAT_EXEC_H

#include "lib/base/buf.h"
#include "worker/driver/chat/config.h"
#include "worker/run/run.h"

/* One command line for /bin/sh in the run's workspace and sandbox. What it
 * prints and how it ended is added to out. -1 with ERR_CANCELED when the run
 * ends meanwhile; nothing of the command is left when this returns. */
int chat_exec(struct run *r, const struct chat_limits *l, const char *command,
	      struct buf *out, struct err *e);

#endif
