#ifndef WORKER_PROCESS_CONFINE_H
#define WORKER_PROCESS_CONFINE_H

#include "lib/base/err.h"
#include "lib/sandbox/spec.h"
#include "worker/run/run.h"

/*
 * The sandbox of a run (lib/sandbox/spec.h), from the start message: for the
 * commands and for the worker itself. A worker without such a message has none.
 *
 * The rules of the worker apply to its main thread, not to the IPC thread.
 */

/* For a driver with commands, before the agent file is opened: starts making
 * the sandbox in another process. Only in a directory of the host, where it
 * does not depend on later steps; it leaves no permanent changes. */
void confine_begin(struct run *r);

/* Reads the settings, and records in the transcript what the machine does not
 * support. ERR_NOTALLOWED if it is required. For a driver that starts no
 * commands, the worker is confined at once; for others confine_commands does
 * it. */
int confine_run(struct run *r, struct err *e);

/* After the workspace was opened: everything that child_start starts with
 * r->sandbox from now on is in the sandbox. */
int confine_commands(struct run *r, struct err *e);

/* For tools that work in the agent file, without commands: only the worker is
 * confined. `base` is a directory that they read, or NULL. */
int confine_tools(struct run *r, const char *base, struct err *e);

/* Allows commands to read the certificates that the environment names. */
void confine_show_certificates(struct sandbox_paths *shown);

/* After the last command: ends the remaining processes in the sandbox, without
 * waiting. confine_end waits. */
void confine_kill(struct run *r);
void confine_end(struct run *r);

#endif
