#ifndef IPC_PLUGIN_SHIM_H
#define IPC_PLUGIN_SHIM_H

#include "ipc/spawn.h"

#include <stdint.h>

/*
 * The shim of a plugin: its parent, which the spawner forks as it forks a
 * worker. It makes the sandbox of the plugin (lib/sandbox) and starts the plugin in
 * it. As child subreaper, and as the parent of the first process in the sandbox,
 * it has every descendant of the plugin below it, also a process that left its
 * session and emptied its environment. It sends an event
 * when the plugin has started or could not be started, and when it has ended,
 * and exits when no process is left below it.
 *
 * It ends everything below it when
 *   - it gets SIGTERM: SIGTERM for all, and SIGKILL SHIM_GRACE_MS later;
 *   - skepd closes its end of the socket, or is gone: the same, SHIM_STOP_MS
 *     later, since the plugin sees the end of its stdin at that moment.
 *
 * The start message is a JSON object:
 *   home, channel   for the environment of the plugin
 *   command         an array: the program and its arguments
 *   sandbox         an object, as sandbox_spec_copy writes it
 *   shown           an array: files of the home that the plugin may read
 * Nothing passes through the shim: the pipes are the plugin's.
 */
#define SHIM_NAME     "skep-plugin"
#define SHIM_STOP_MS  1000
#define SHIM_GRACE_MS 2000
#define SHIM_TEXT     480 /* of a struct err */

enum shim_fd { /* descriptors that come with the request, in this order */
	       SHIM_FD_START,
	       SHIM_FD_STDIN,
	       SHIM_FD_STDOUT,
	       SHIM_FD_STDERR,
	       SHIM_FD_EVENTS, /* SOCK_SEQPACKET, one shim_event a packet */
	       SHIM_FDS
};

enum shim_event_kind { SHIM_STARTED, SHIM_REFUSED, SHIM_ENDED };

struct shim_event {
	int32_t kind;
	int32_t value;        /* pid; 0; status as from waitpid */
	char text[SHIM_TEXT]; /* REFUSED: the reason */
};

#endif
