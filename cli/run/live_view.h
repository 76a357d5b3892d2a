#ifndef CLI_RUN_LIVE_VIEW_H
#define CLI_RUN_LIVE_VIEW_H

#include "cli/cli.h"

/* The table of what runs now, for ps and top. */
int live_view_print(struct cli *cli, struct err *e);

#endif
