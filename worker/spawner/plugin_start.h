#ifndef WORKER_SPAWNER_PLUGIN_START_H
#define WORKER_SPAWNER_PLUGIN_START_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/sandbox/sandbox.h"

/*
 * The command that the shim of a plugin starts: the start message
 * (ipc/plugin_shim.h) and the sandbox that it describes. Texts are in the
 * arena.
 *
 * The sandbox is that of the commands of a run. The home of skep is hidden
 * except for the files in `shown`; it is still the current directory of the
 * plugin.
 */
struct plugin_start {
	struct arena arena;
	const char *home, *channel;
	char **argv;
	struct sandbox_spec spec;
	struct sandbox_plan plan;
	struct sandbox sandbox; /* used unless spec.mode is SANDBOX_OFF */
};

int plugin_start_read(struct plugin_start *s, int fd, struct err *e);

/* Sets the limits of the cgroup and makes the sandbox. The calling process is
 * restricted as well. ERR_NOTALLOWED if the machine does not support what the
 * settings require. */
int plugin_start_confine(struct plugin_start *s, struct err *e);

/* For sandbox_start and the functions that follow it; NULL: no sandbox. */
const struct sandbox *plugin_start_sandbox(const struct plugin_start *s);

/* Ends all processes in the sandbox. */
void plugin_start_end(struct plugin_start *s);

#endif
