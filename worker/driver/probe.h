#ifndef WORKER_DRIVER_PROBE_H
#define WORKER_DRIVER_PROBE_H

#include "lib/json/json.h"
#include "lib/sandbox/sandbox.h"
#include "worker/process/command.h"

/*
 * Steps of 'skep agent test' (worker/driver/acp/probe.h). Each prints its
 * result as a line of JSON {"step", "result", "detail"} on stdout: 0, or -1 if
 * the step failed.
 */
int probe_report(const char *step, bool ok, const char *detail);

/* Does the command of the exec driver exist in the sandbox, and can it be
 * executed? A shell text is parsed. Nothing is executed. */
int probe_exec(const struct exec_config *c, const struct sandbox *sandbox);

/* Does every step of a script name an action? */
int probe_script(const cJSON *config);

#endif
