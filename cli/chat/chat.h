#ifndef CLI_CHAT_CHAT_H
#define CLI_CHAT_CHAT_H

#include "cli/chat/chat_client.h"
#include "cli/run/approval_prompt.h"
#include "cli/run/fold_view.h"

/* A chat: the connection, and what its last turn was. */
struct chat {
	struct chat_client line;
	struct approval_prompt approvals;
	bool terminal;     /* interactive: stream, ask, report and continue */
	char run[ID_SIZE]; /* the last run, or "" */
	bool quit;
};

/* Sends a line and prints the answer: as it is written on a terminal, otherwise
 * when it is complete. Ctrl-C cancels the run. */
int chat_turn(struct chat *c, const char *text, size_t n, struct err *e);

/* Prints the output of a run that was started in another way, until it ends. */
int chat_follow(struct chat *c, const char *run, struct err *e);

/* Executes a line that starts with '/'. */
int chat_command(struct chat *c, const char *line, struct err *e);

#endif
