#ifndef WORKER_SPAWNER_PLUGIN_SHIM_H
#define WORKER_SPAWNER_PLUGIN_SHIM_H

#include "ipc/plugin_shim.h"

/* In a fork of the spawner: becomes the shim of a plugin (ipc/plugin_shim.h),
 * with these descriptors. Returns the exit status: 0 if no process is left. */
int plugin_shim_main(const int fds[SHIM_FDS]);

#endif
