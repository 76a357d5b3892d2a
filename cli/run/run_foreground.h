#ifndef CLI_RUN_RUN_FOREGROUND_H
#define CLI_RUN_RUN_FOREGROUND_H

#include "cli/cli.h"

/*
 * Waits for a run and prints its answer, as the options of `skep run` say. On a
 * terminal the text is printed as it grows, and the user is asked about
 * approvals. The outcome of the run is that of the command.
 */
int run_foreground(struct cli *cli, const char *id, struct err *e);

#endif
