#ifndef CLI_FOLLOW_ROWS_H
#define CLI_FOLLOW_ROWS_H

#include "lib/base/err.h"

struct cli;

/* Prints the rows that are new since the last call. */
typedef int print_rows(struct cli *cli, void *arg, struct err *e);

/* Calls `print` now and after each commit to the control plane, until the command
 * is interrupted or the reader of stdout closes it. */
int follow_control_rows(struct cli *cli, print_rows *print, void *arg,
			struct err *e);

#endif
