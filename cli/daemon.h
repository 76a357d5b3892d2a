#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "cli/cli.h"

/* Starting and stopping the supervisor of a home. */

/* Starts skepd and waits until it answers; its log is logs/skepd.log. A skepd
 * that ends instead is an error with the last line that it wrote. */
int daemon_up(struct cli *cli, struct err *e);

/* Becomes skepd; returns only on failure. */
int daemon_foreground(struct cli *cli, struct err *e);

/* Asks it to go ("restart", "down", "down-now") and waits until it is gone. */
int daemon_stop(struct cli *cli, const char *intent, struct err *e);

/* Whether one lives now: 1, 0, -1. */
int daemon_lives(struct cli *cli, struct supervisor_row *row, struct err *e);

#endif
