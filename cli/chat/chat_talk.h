#ifndef CLI_CHAT_CHAT_TALK_H
#define CLI_CHAT_CHAT_TALK_H

#include "cli/cli.h"
#include "lib/base/id.h"

/*
 * A conversation over a pull channel, as skep chat has it: lines go in as
 * messages, and what comes back is fetched, shown, and acknowledged by the next
 * request. A supervisor that goes away is waited for; a message has an id of
 * ours, so it may be said again without becoming two.
 */
struct talk_line {
	struct cli *cli;
	const char *channel, *sender, *agent, *session;
	const char *peer;    /* talk_open chooses it */
	int slot;            /* holds it while we live */
	char acked[ID_SIZE]; /* shown, to be acknowledged */
	bool is_away;        /* the supervisor is, and that was said */
};

/* Checks agent and channel, and takes a conversation that no other chat of this
 * user has open: each gets the answers to its own lines. */
int talk_open(struct talk_line *t, struct err *e);
void talk_close(struct talk_line *t);

struct talk_said {
	struct id id;      /* ours: what an answer names */
	struct id inbound; /* the row that it became */
};

int talk_say(struct talk_line *t, const char *text, struct talk_said *said,
	     struct err *e);

/* The next message: 1 with it printed, 0 if none came in `wait` ms, -1. *mine:
 * it answers what was said. */
int talk_hear(struct talk_line *t, int wait, const struct talk_said *said,
	      bool *mine, struct err *e);

/* 1 while an answer may still come; 0: the run is over; -1 says how it failed.
 * `run` is its id, or "" if it has none. */
int talk_may_come(struct talk_line *t, const struct talk_said *said,
		  char run[ID_SIZE], struct err *e);

#endif
