#ifndef WORKER_DRIVER_PROBE_H
#define WORKER_DRIVER_PROBE_H

#include "lib/json/json.h"
#include "lib/sandbox/sandbox.h"
#include "worker/process/command.h"

/*
 * Steps of 'skep agent test' (worker/driver/acp/probe.h). Each prints what came of
 * it as a line of JSON {"step", "result", "detail"} on stdout: 0, or -1 if the
 * step failed.
 */
int probe_say(const char *step, bool ok, const char *detail);

/* Is the command of the exec driver in the sandbox, and can it be executed? A
 * shell text is parsed. Nothing of it runs. */
int probe_exec(const struct exec_config *c, const struct sandbox *box);

/* Does every step of a script name something to do? */
int probe_script(const cJSON *config);

#endif
