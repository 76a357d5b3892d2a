#ifndef CLI_CHAT_CHAT_CLIENT_H
#define CLI_CHAT_CHAT_CLIENT_H

#include "cli/cli.h"
#include "lib/base/id.h"

/*
 * A conversation over a pull channel, for skep chat: lines are sent as
 * messages; answers are received, printed, and acknowledged by the next
 * request. If the supervisor stops, it waits for the next one. A message has an
 * id, so sending it again does not duplicate it.
 */
struct chat_client {
	struct cli *cli;
	const char *channel, *sender, *agent, *session;
	const char *peer;    /* chosen by chat_client_open */
	int slot;            /* reserves it while the process runs */
	char acked[ID_SIZE]; /* last shown message, to be acknowledged */
	bool silent;         /* messages are received, but not printed */
	bool is_away;        /* the supervisor does not run, and this was
			      * reported */
};

/* Checks agent and channel, and opens a conversation that no other chat of this
 * user uses, so that each gets the answers to its own lines. */
int chat_client_open(struct chat_client *t, struct err *e);
void chat_client_close(struct chat_client *t);

struct chat_line {
	struct id id;      /* our id, which the answer refers to */
	struct id inbound; /* id of the inbound row */
};

int chat_client_send(struct chat_client *t, const char *text,
		     struct chat_line *sent, struct err *e);

/* Receives and prints the next message: 1, 0 if none came in `wait` ms, or -1.
 * *mine: it answers the last line. */
int chat_client_receive(struct chat_client *t, int wait,
			const struct chat_line *sent, bool *mine,
			struct err *e);

/* Returns 1 while an answer may still come, 0 if the run is over, -1 with the
 * error if it failed. run: its id, or "". */
int chat_client_pending(struct chat_client *t, const struct chat_line *sent,
			char run[ID_SIZE], struct err *e);

#endif
