#ifndef IPC_PLUGIN_SHIM_H
#define IPC_PLUGIN_SHIM_H

#include <stdint.h>

/*
 * skep-warden PARENT BRAND COMMAND…: the process below which a plugin runs. As child
 * subreaper it inherits every descendant of the command, also one that left its
 * session and emptied its environment: they are ended by it, and its own end is
 * the proof that none is left. It ends with PARENT (skepd), and its tree with it.
 * Should it be killed itself, the command is killed too, and others are found by
 * their BRAND (lib/os/proc.h).
 *
 * The command has the warden's own stdin, stdout, stderr, directory and
 * environment; nothing passes through the warden. It is told by signal:
 *
 *   SIGTERM   passed on to all below it
 *   SIGQUIT   ends all below it by force
 *   SIGHUP    (from the kernel: skepd is gone, and stdin at its end) after a
 *             while the first, and later the second
 *
 * and goes by itself when nobody is left. What it has to say is a packet each
 * on WARDEN_FD: REFUSED, or STARTED and later ENDED. Its exit status is 0 if
 * nobody was left below it.
 */
#define WARDEN_PROGRAM  "skep-warden"
#define WARDEN_FD       3
#define WARDEN_STOP_S   1    /* from the end of stdin to SIGTERM */
#define WARDEN_GRACE_MS 2000 /* from SIGTERM to SIGKILL */

/* In the environment that skepd gives it, with the value that SPAWN_MARKER has
 * in those of its tree: so both are found, and can be told apart. */
#define WARDEN_MARKER "SKEP_WARDEN_ID"

enum warden_kind { WARDEN_STARTED, WARDEN_REFUSED, WARDEN_ENDED };

struct warden_told {
	int32_t kind;
	int32_t value; /* pid; errno; status as waitpid gives it */
};

#endif
