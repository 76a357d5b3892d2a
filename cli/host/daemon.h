#ifndef CLI_HOST_DAEMON_H
#define CLI_HOST_DAEMON_H

#include "cli/cli.h"

/* Starting and stopping the supervisor of a home. */

/* Starts skepd under a watchdog and waits until it answers; its log is
 * logs/skepd.log. If one is running, it is left running; if one is stopping, it
 * waits for its end first. If skepd exits, the error contains the last line of
 * its log. Prints the result. */
int daemon_up(struct cli *cli, struct err *e);

/* Waits for the end of a supervisor that is stopping, and reports that on
 * stderr. False, at once, if it is not stopping. */
bool daemon_await_stop(struct cli *cli);

/* Prints the result of a command on the supervisor; pid OPT_NONE: none runs. */
void daemon_print(struct cli *cli, int64_t pid, bool changed);

/* Executes skepd; returns only on failure. */
int daemon_foreground(struct cli *cli, struct err *e);

/* Requests the end ("restart", "down", "down-now") and waits for it. Ctrl-C takes
 * a "down" back. After the time-out, unless it is 0, the runs that "down" waits
 * for are stopped. */
int daemon_stop(struct cli *cli, const char *intent, int64_t timeout_ms,
		struct err *e);

/* Ends a watchdog that waits to restart skepd; false if none runs. */
bool daemon_end_watchdog(struct cli *cli);

/* ERR_MOVED, with what to do, if the supervisor of this home has lost a file of
 * the control plane: it answers, but cannot write. */
int daemon_in_place(struct cli *cli, struct err *e);

/* Whether the supervisor that is installed now could take over from the running
 * one: -1 with the reason, for a restart that would leave none. */
int daemon_check(struct cli *cli, struct err *e);

/* Fails if no supervisor runs, with what is known about the last one. */
int daemon_absent(struct cli *cli, struct err *e);

/* -1: a supervisor runs that the control plane does not name. It has lost its
 * file, and another one must not replace it. */
int daemon_nameless(struct cli *cli, struct err *e);

/* The same, with an open control plane. */
int daemon_named(struct cli *cli, struct sql *db, struct supervisor_row *row,
		 struct err *e);

#endif
