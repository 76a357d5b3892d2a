#ifndef CLI_SCREEN_LINE_EDIT_H
#define CLI_SCREEN_LINE_EDIT_H

#include "cli/cli.h"

/* Line editing with libedit; the history is kept in state/chat_history of the
 * home. See struct interactive. */
long line_edit_read(struct cli *cli, const char *prompt, struct buf *line);
void line_edit_end(void);

#endif
