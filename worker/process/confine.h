#ifndef WORKER_PROCESS_CONFINE_H
#define WORKER_PROCESS_CONFINE_H

#include "lib/base/err.h"
#include "lib/sandbox/spec.h"
#include "worker/run/run.h"

/*
 * The sandbox of a run (lib/sandbox/spec.h): what the definition asks for, as the
 * start message brings it, around the commands and around the worker itself. A
 * worker without such a message has none.
 *
 * The worker's own rules hold for the thread that works, not for the link's.
 */

/* For a driver of commands, before the agent's file is open: starts making the
 * sandbox in another process. Only in a directory of the host, where nothing of
 * it depends on what follows; it changes nothing that stays. */
void confine_begin(struct run *r);

/* Reads what is wanted, and says in the transcript what the machine does not
 * offer of it. ERR_NOTALLOWED if it is required. For a driver that starts no
 * commands the worker is confined at once; for others confine_commands does
 * it. */
int confine_run(struct run *r, struct err *e);

/* After the workspace is open: everything that is started by child_start from
 * now on with r->box is in it. */
int confine_commands(struct run *r, struct err *e);

/* For tools that work in the agent's file, and no commands: the worker alone is
 * confined. `base` is a directory that they read, or NULL. */
int confine_tools(struct run *r, const char *base, struct err *e);

/* Lets commands read the certificates that the environment names, wherever they
 * are. */
void confine_show_certificates(struct sandbox_paths *shown);

/* After the last command: ends what is left in the sandbox, and does not wait
 * for that. confine_end does. */
void confine_kill(struct run *r);
void confine_end(struct run *r);

#endif
