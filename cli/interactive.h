#ifndef CLI_INTERACTIVE_H
#define CLI_INTERACTIVE_H

#include "cli/cli.h"

/*
 * Full-screen views and line editing. They need ncurses and libedit, which take
 * longer to load than most commands run, so they are in a program of their own,
 * skep-screen: the same commands, with `interactive` set. On a terminal, `skep
 * top` and `skep chat` execute it.
 */
struct interactive {
	/* skep top: returns when the user quits. */
	int (*top)(struct cli *cli, struct err *e);

	/* Reads a line with editing and history into `line`: its length without
	 * the newline, or -1 at the end of the input. -2: Ctrl-C. */
	long (*read_line)(struct cli *cli, const char *prompt,
			  struct buf *line);
};

extern const struct interactive *interactive; /* NULL in skep */

/* Executes skep-screen with the arguments of this program. Returns if this is
 * skep-screen, or there is none, or standard input and output are not a
 * terminal. */
void interactive_exec(struct cli *cli);

#endif
