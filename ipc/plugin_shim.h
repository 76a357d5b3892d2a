#ifndef IPC_PLUGIN_SHIM_H
#define IPC_PLUGIN_SHIM_H

#include <stdint.h>

/*
 * skep-plugin-shim PARENT BRAND COMMAND…: the parent of a plugin's processes.
 * As a child subreaper it inherits every descendant of the command, even one
 * that left its session and emptied its environment. It ends all of them, and
 * its own exit is the proof that none is left. It ends with PARENT (skepd), and
 * its processes with it. If the shim itself is killed, the command is killed
 * too, and other descendants are found by their BRAND (lib/os/proc.h).
 *
 * The command has the shim's own stdin, stdout, stderr, directory and
 * environment; nothing passes through the shim. Signals control it:
 *
 *   SIGTERM   passed on to all below it
 *   SIGQUIT   ends all below it by force
 *   SIGHUP    (from the kernel: skepd is gone, and stdin at its end) after a
 *             while the first, and later the second
 *
 * It exits when no process is left below it. It reports each event as a packet
 * on SHIM_FD: REFUSED, or STARTED and later ENDED. The exit status is 0 if no
 * process was left.
 */
#define SHIM_PROGRAM  "skep-plugin-shim"
#define SHIM_FD       3
#define SHIM_STOP_S   1    /* from the end of stdin to SIGTERM */
#define SHIM_GRACE_MS 2000 /* from SIGTERM to SIGKILL */

/* Set in the environment of the shim, with the value that SPAWN_MARKER has in
 * those of its descendants: so both are found and can be distinguished. */
#define SHIM_MARKER "SKEP_PLUGIN_SHIM"

enum shim_event_kind { SHIM_STARTED, SHIM_REFUSED, SHIM_ENDED };

struct shim_event {
	int32_t kind;
	int32_t value; /* pid; errno; status as from waitpid */
};

#endif
