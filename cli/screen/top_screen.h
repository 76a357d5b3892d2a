#ifndef CLI_SCREEN_TOP_SCREEN_H
#define CLI_SCREEN_TOP_SCREEN_H

#include "cli/cli.h"

/* skep top with ncurses: sorts, filters, and acts on the selected run. Returns
 * when the user quits. */
int top_screen(struct cli *cli, struct err *e);

#endif
